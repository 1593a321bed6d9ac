//! The accounting of all slow operations: each in brief, any in full.

use std::collections::{BTreeMap, HashMap};

use crate::blame::culprits::RootBlockers;
use crate::blame::culprits::culprit::Culprit;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::disks::Disks;
use crate::blame::facts::task_id::TaskId;
use crate::blame::operations::Operation;
use crate::blame::timeline::piece::Piece;
use crate::blame::timeline::timelines::{Built, TaskTimelines};
use crate::blame::verdict::explanation::{Explanation, Stall};
use crate::blame::verdict::lanes::{Lanes, lanes};
use crate::blame::verdict::lost_time::{self, LostTime};
use crate::blame::verdict::totals::stall;
use crate::blame::verdict::wait_graph::waits;
use crate::waits::Waits;

/// Starts and ends by task.
type Covered = HashMap<u32, Vec<(u64, u64)>>;

/// Every explained slow operation, ordered by start. An operation's number is its position in that order.
#[derive(Debug)]
pub struct Accounting {
    index: RunIndex,
    disks: Disks,
    operations: Vec<Operation>,
    /// Waits of the recorded command that are no operations, and shorter.
    short: Vec<Operation>,
    /// Starts and ends of all operations by task, also of those that are not in scope.
    covered: Covered,
    silent: HashMap<u32, u64>,
    /// Timelines that the explanation was made from.
    built: Built,
}

/// One slow operation in brief.
#[derive(Debug, Clone, Copy)]
pub struct OperationAccount<'a> {
    /// Kernel thread id.
    pub tid: u32,
    /// Whether it is one of the recorded command or of the load; `None` where neither was run.
    pub of_command: Option<bool>,
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

impl Accounting {
    pub(crate) fn new(
        (covered, silent, built): (Covered, HashMap<u32, u64>, Built),
        (index, disks): (RunIndex, Disks),
        (mut operations, short): (Vec<Operation>, Vec<Operation>),
    ) -> Accounting {
        operations.sort_by_key(|operation| (operation.start_ns, operation.end_ns, operation.tid, operation.class));
        Accounting { index, disks, operations, short, covered, silent, built }
    }

    /// Number of operations.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// The number of a stall's operation; `None` for one of another explanation.
    pub fn number_of(&self, stall: &Stall) -> Option<usize> {
        let first = self.operations.partition_point(|operation| operation.start_ns < stall.start_ns);
        let same_start = self.operations[first..].iter().take_while(|operation| operation.start_ns == stall.start_ns);
        let is_it = |operation: &Operation| {
            (operation.tid, operation.ns()) == (stall.task.tid, stall.duration_ns)
                && self.index.names.get(operation.class) == stall.operation
        };
        same_start.into_iter().position(is_it).map(|at| first + at)
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
            let timeline = timelines.of(operation);
            for segment in timeline.between(operation.start_ns, operation.end_ns) {
                pieces.push(Piece { cause: segment.cause, start_ns: segment.start_ns, end_ns: segment.end_ns });
            }
            let task = index.tasks.name(operation.tid, operation.end_ns);
            visit(OperationAccount {
                tid: operation.tid,
                of_command: operation.is_of_command(index),
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

    /// Visits all time that the operations lost, with where their tasks were: their durations without the time in which
    /// they ran.
    pub fn each_lost(&self, visit: impl FnMut(LostTime<'_>)) {
        lost_time::each(&self.index, &self.operations, &mut self.timelines(), visit);
    }

    /// A thread, with its name at a moment.
    pub fn thread(&self, tid: u32, at_ns: u64) -> TaskId {
        self.index.tasks.thread(tid, at_ns, &self.index.names)
    }

    /// The process of a thread at a moment, if known.
    pub fn pid(&self, tid: u32, at_ns: u64) -> Option<u32> {
        self.index.tasks.pid(tid, at_ns)
    }

    /// The operations of these numbers in full. Unknown numbers are ignored.
    pub fn stalls(&self, numbers: &[usize]) -> Vec<(usize, Stall)> {
        let mut timelines = self.timelines();
        let found = numbers.iter().filter_map(|&number| Some((number, self.operations.get(number)?)));
        found.map(|(number, operation)| (number, stall(&self.index, operation, &timelines.of(operation)))).collect()
    }

    /// The same with their lanes.
    pub fn stalls_with_lanes(&self, numbers: &[usize]) -> Vec<(usize, Stall, Lanes)> {
        let (index, mut timelines) = (&self.index, self.timelines());
        let mut described = |number: usize| {
            let operation = self.operations.get(number)?;
            let stall = stall(index, operation, &timelines.of(operation));
            let lanes = lanes(index, operation, &stall.chain, &mut timelines);
            Some((number, stall, lanes))
        };
        numbers.iter().filter_map(|&number| described(number)).collect()
    }

    /// Of each of these operations the root blocker that it lost most time to; `None` where it lost none that has one.
    pub fn root_blockers(&self, numbers: &[usize]) -> Vec<Option<Culprit>> {
        let mut timelines = self.timelines();
        let mut of_one = |number: &usize| {
            let operations = std::slice::from_ref(self.operations.get(*number)?);
            RootBlockers::new(&self.index, operations, &mut timelines, &self.disks).of(|_| true).into_iter().next()
        };
        numbers.iter().map(&mut of_one).collect()
    }

    /// Root blockers of each class of operations.
    pub fn culprits_by_class(&self) -> BTreeMap<String, Vec<Culprit>> {
        self.by_class(|_| true)
    }

    /// The same of the recorded command's operations alone.
    pub fn culprits_of_command_by_class(&self) -> BTreeMap<String, Vec<Culprit>> {
        self.by_class(|operation| operation.is_of_command(&self.index) != Some(false))
    }

    fn by_class(&self, is_meant: impl Fn(&Operation) -> bool) -> BTreeMap<String, Vec<Culprit>> {
        let mut classes: BTreeMap<String, Vec<Operation>> = BTreeMap::new();
        for operation in self.operations.iter().filter(|operation| is_meant(operation)) {
            let class = self.index.names.get(operation.class).to_owned();
            classes.entry(class).or_default().push(operation.clone());
        }
        let mut timelines = self.timelines();
        let mut of = |operations: Vec<Operation>| {
            let mut operations = operations;
            // Those of one task in order of time.
            operations.sort_by_key(|of| (of.tid, of.asynchronous, of.start_ns, of.end_ns));
            RootBlockers::new(&self.index, &operations, &mut timelines, &self.disks).of(|_| true)
        };
        classes.into_iter().map(|(class, operations)| (class, of(operations))).collect()
    }

    /// What the time of the operations consists of, through the tasks that they waited for. Of a recorded command that
    /// has slow operations, its neighbours' are left out.
    pub fn waits(&self, slower_than_ns: u64) -> Waits {
        let of_command = |operation: &&Operation| operation.is_of_command(&self.index) == Some(true);
        let mut operations: Vec<Operation> = self.operations.iter().filter(of_command).cloned().collect();
        if operations.is_empty() {
            operations.clone_from(&self.operations);
        }
        waits((&self.index, &self.disks), &operations, &mut self.timelines(), slower_than_ns)
    }

    /// The same of all operations, where the recorded command only slept.
    pub fn waits_asked_about(&self, explanation: &Explanation) -> Waits {
        match explanation.command_only_slept() {
            true => {
                let of = (&self.index, &self.disks);
                waits(of, &self.operations, &mut self.timelines(), explanation.slower_than_ns)
            }
            false => self.waits(explanation.slower_than_ns),
        }
    }

    /// The same with the shorter waits of the recorded command, where these cost it more and most of them are recorded
    /// individually.
    pub fn all_waits(&self, explanation: &Explanation) -> Waits {
        let operations = self.waits_asked_about(explanation);
        let recorded_ns: u64 = self.short.iter().map(Operation::ns).sum();
        if explanation.command_only_slept()
            || !explanation.short_waits_cost_most()
            || recorded_ns < explanation.short_waits.time_ns / 2
        {
            return operations;
        }
        let interval_ns = explanation.trace.as_ref().map_or(0, |trace| trace.interval_ns);
        let short = waits((&self.index, &self.disks), &self.short, &mut self.timelines(), interval_ns);
        Waits { short: Some(Box::new(Waits { are_short: true, ..short })), ..operations }
    }

    fn timelines(&self) -> TaskTimelines<'_> {
        TaskTimelines::new(&self.index, &self.covered, &self.silent).with(self.built.clone())
    }
}
