//! The accounting of all slow operations: each in brief, any in full.

use std::collections::HashMap;

use super::cause::Cause;
use super::explanation::{Stall, Who};
use super::operations::Operation;
use super::run_index::RunIndex;
use super::timelines::TaskTimelines;
use super::totals::stall;

/// Every explained slow operation, ordered by start. An operation's number is its position in that order.
#[derive(Debug)]
pub struct Accounting {
    index: RunIndex,
    operations: Vec<Operation>,
    silent: HashMap<u32, u64>,
}

/// One slow operation in brief.
#[derive(Debug, Clone, Copy)]
pub struct OperationAccount<'a> {
    /// Kernel thread id.
    pub tid: u32,
    /// The thread's name, where the run recorded it.
    pub task: Option<&'a str>,
    /// Class of the load, or system call.
    pub operation: &'a str,
    /// File.
    pub path: Option<&'a str>,
    /// Start on the monotonic clock.
    pub start_ns: u64,
    /// Duration, ns.
    pub duration_ns: u64,
    /// Whether it had ended.
    pub finished: bool,
    /// Its time by cause, in order of time. The pieces sum exactly to the duration.
    pub pieces: &'a [Piece],
}

/// A part of an operation's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The cause.
    pub cause: Cause,
    /// Begin on the monotonic clock.
    pub start_ns: u64,
    /// End on the monotonic clock.
    pub end_ns: u64,
}

impl Accounting {
    pub(super) fn new(index: RunIndex, mut operations: Vec<Operation>, silent: HashMap<u32, u64>) -> Accounting {
        operations.sort_by_key(|operation| (operation.start_ns, operation.end_ns, operation.tid, operation.class));
        Accounting { index, operations, silent }
    }

    /// Number of operations.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Whether no operation was slow.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Visits each operation in brief, in order.
    pub fn for_each(&self, mut visit: impl FnMut(OperationAccount<'_>)) {
        let index = &self.index;
        let mut timelines = self.timelines();
        let mut pieces = Vec::new();
        for operation in &self.operations {
            pieces.clear();
            let timeline = timelines.get(operation.tid);
            for segment in timeline.between(operation.start_ns, operation.end_ns) {
                pieces.push(Piece { cause: segment.cause, start_ns: segment.start_ns, end_ns: segment.end_ns });
            }
            let task = index.tasks.name(operation.tid, operation.end_ns);
            visit(OperationAccount {
                tid: operation.tid,
                task: task.map(|name| index.names.get(name)),
                operation: index.names.get(operation.class),
                path: operation.path.map(|path| index.names.get(path)),
                start_ns: operation.start_ns,
                duration_ns: operation.ns(),
                finished: operation.finished,
                pieces: &pieces,
            });
        }
    }

    /// A thread, with its name at a moment.
    pub fn who(&self, tid: u32, at_ns: u64) -> Who {
        self.index.tasks.who(tid, at_ns, &self.index.names)
    }

    /// The operations of these numbers in full. Unknown numbers are ignored.
    pub fn stalls(&self, numbers: &[usize]) -> Vec<(usize, Stall)> {
        let mut timelines = self.timelines();
        let found = numbers.iter().filter_map(|&number| Some((number, self.operations.get(number)?)));
        found
            .map(|(number, operation)| (number, stall(&self.index, operation, &timelines.get(operation.tid))))
            .collect()
    }

    fn timelines(&self) -> TaskTimelines<'_> {
        let mut borders: HashMap<u32, Vec<u64>> = HashMap::new();
        for operation in &self.operations {
            borders.entry(operation.tid).or_default().extend([operation.start_ns, operation.end_ns]);
        }
        TaskTimelines::new(&self.index, borders, self.silent.clone())
    }
}
