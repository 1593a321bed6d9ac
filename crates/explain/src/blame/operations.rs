//! The operations to explain.

use std::collections::{HashMap, HashSet};

use model::operation::{OperationKind, OperationRecord, ROUND};
use model::stall::StallKind;

use super::names::{Name, Names};
use super::rows::{LONGEST_NS, Row};
use super::run_index::RunIndex;

/// The class of a page fault outside a traced system call.
const PAGE_FAULT: &str = "page_fault";
/// The class of a polled wait of which nothing else is known.
const BLOCKED: &str = "blocked";
/// Maximum gap between sleeps of one page fault: the handler runs between them.
const SAME_FAULT_NS: u64 = 100_000;

/// An operation.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    pub(super) tid: u32,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) class: Name,
    pub(super) path: Option<Name>,
    pub(super) finished: bool,
    /// An operation of the load.
    pub(super) own: bool,
}

impl Operation {
    pub(super) fn ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }
}

/// Operations of the load. A stuck operation that is reported repeatedly is one operation.
#[derive(Debug, Default)]
pub(super) struct OwnOperations {
    all: Vec<Operation>,
    stuck: HashMap<(u32, u64), usize>,
}

impl OwnOperations {
    /// `false` for an inconsistent record.
    pub(super) fn insert(&mut self, record: &OperationRecord, names: &mut Names) -> bool {
        if record.class == ROUND || record.duration_ns == 0 {
            return true;
        }
        let Some(end_ns) = record.start_ns.checked_add(record.duration_ns).filter(|_| record.duration_ns <= LONGEST_NS)
        else {
            return false;
        };
        let operation = Operation {
            tid: record.tid,
            start_ns: record.start_ns,
            end_ns,
            class: names.insert(&record.class),
            path: names.insert_some(record.path.as_ref()),
            finished: record.kind != OperationKind::Stuck,
            own: true,
        };
        let key = (record.tid, record.start_ns);
        match self.stuck.get(&key).map(|&at| &mut self.all[at]) {
            Some(kept) if kept.class == operation.class && kept.path == operation.path => {
                if operation.end_ns > kept.end_ns || (operation.end_ns == kept.end_ns && operation.finished) {
                    *kept = operation;
                }
            }
            _ => {
                self.stuck.insert(key, self.all.len());
                self.all.push(operation);
            }
        }
        true
    }

    pub(super) fn into_all(self) -> Vec<Operation> {
        self.all
    }
}

/// Times covered by operations, by task; ordered and disjoint.
#[derive(Debug, Default)]
struct BusyTimes(HashMap<u32, Vec<(u64, u64)>>);

impl BusyTimes {
    fn of(times: impl Iterator<Item = (u32, u64, u64)>) -> BusyTimes {
        let mut busy: HashMap<u32, Vec<(u64, u64)>> = HashMap::new();
        for (who, start_ns, end_ns) in times {
            busy.entry(who).or_default().push((start_ns, end_ns));
        }
        for times in busy.values_mut() {
            *times = joined(std::mem::take(times), 0);
        }
        BusyTimes(busy)
    }

    fn overlaps(&self, who: u32, start_ns: u64, end_ns: u64) -> bool {
        let Some(times) = self.0.get(&who) else { return false };
        let after = times.partition_point(|&(_, end)| end <= start_ns);
        times.get(after).is_some_and(|&(start, _)| start < end_ns)
    }
}

/// Overlapping times, and those with no more than a gap between them, as one.
pub(super) fn joined(mut times: Vec<(u64, u64)>, gap_ns: u64) -> Vec<(u64, u64)> {
    times.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::with_capacity(times.len());
    for (start_ns, end_ns) in times {
        match joined.last_mut() {
            Some(last) if start_ns <= last.1.saturating_add(gap_ns) => last.1 = last.1.max(end_ns),
            _ => joined.push((start_ns, end_ns)),
        }
    }
    joined
}

/// All operations: the load's, and those of other tasks outside of them.
pub(super) fn all(index: &mut RunIndex, own: Vec<Operation>, slower_than_ns: u64) -> Vec<Operation> {
    let (page_fault, blocked) = (index.names.insert(PAGE_FAULT), index.names.insert(BLOCKED));
    let search = Search::new(index, &own, slower_than_ns);
    let mut operations: Vec<Operation> = own.into_iter().filter(|own| own.ns() >= slower_than_ns).collect();
    let mut found = search.calls(blocked);
    let faults = |row: &Row| row.call.is_none() && index.stack(row.stack).is_some_and(|stack| stack.faults);
    found.extend(search.waits(StallKind::OffCpu, &faults, SAME_FAULT_NS, page_fault, &found));
    let of_program = |row: &Row| !index.stack(row.stack).is_some_and(|stack| stack.kernel_thread);
    found.extend(search.waits(StallKind::Blocked, &of_program, 0, blocked, &found));
    operations.extend(found);
    operations
}

/// Finds the operations of other tasks.
struct Search<'a> {
    index: &'a RunIndex,
    slower_than_ns: u64,
    /// The load's processes.
    loads: HashSet<u32>,
    /// Times of the load's operations, by task.
    by_task: BusyTimes,
    /// The same for the whole load: what its other threads do then belongs to the operation that waits for them.
    by_load: BusyTimes,
}

impl Search<'_> {
    fn new<'a>(index: &'a RunIndex, own: &[Operation], slower_than_ns: u64) -> Search<'a> {
        Search {
            index,
            slower_than_ns,
            loads: index.tasks.processes(own.iter().map(|own| (own.tid, own.start_ns))),
            by_task: BusyTimes::of(own.iter().map(|own| (own.tid, own.start_ns, own.end_ns))),
            by_load: BusyTimes::of(own.iter().map(|own| (0, own.start_ns, own.end_ns))),
        }
    }

    fn is_own(&self, row: &Row) -> bool {
        let of_load = || self.index.tasks.pid(row.tid, row.start_ns).is_some_and(|pid| self.loads.contains(&pid));
        self.by_task.overlaps(row.tid, row.start_ns, row.end_ns)
            || (self.by_load.overlaps(0, row.start_ns, row.end_ns) && of_load())
    }

    /// Slow system calls.
    fn calls(&self, unnamed: Name) -> Vec<Operation> {
        let is_call = |row: &&Row| row.kind == StallKind::SystemCall && !self.is_own(row);
        let is_slow = |row: &&Row| row.end_ns - row.start_ns >= self.slower_than_ns;
        let operation = |row: &Row| Operation {
            tid: row.tid,
            start_ns: row.start_ns,
            end_ns: row.end_ns,
            class: row.call.unwrap_or(unnamed),
            path: row.path,
            finished: true,
            own: false,
        };
        self.index.rows.iter().filter(is_call).filter(is_slow).map(operation).collect()
    }

    /// Rows of that kind, joined across gaps, that overlap none of the operations already found. An operation starts with
    /// a row and takes the system call and file of that row.
    fn waits(
        &self,
        kind: StallKind,
        wanted: &dyn Fn(&Row) -> bool,
        gap_ns: u64,
        class: Name,
        found: &[Operation],
    ) -> Vec<Operation> {
        let busy = BusyTimes::of(found.iter().map(|found| (found.tid, found.start_ns, found.end_ns)));
        let mut operations: Vec<Operation> = Vec::new();
        for rows in self.index.rows.chunk_by(|a, b| a.tid == b.tid) {
            let is_wanted = |row: &&Row| row.kind == kind && wanted(row) && !self.is_own(row);
            let times = joined(rows.iter().filter(is_wanted).map(|row| (row.start_ns, row.end_ns)).collect(), gap_ns);
            let tid = rows[0].tid;
            let free = times.into_iter().filter(|&(start_ns, end_ns)| !busy.overlaps(tid, start_ns, end_ns));
            for (start_ns, end_ns) in free.filter(|(from, to)| to - from >= self.slower_than_ns) {
                let first = rows.iter().filter(is_wanted).find(|row| row.start_ns == start_ns);
                operations.push(Operation {
                    tid,
                    start_ns,
                    end_ns,
                    class: first.and_then(|row| row.call).unwrap_or(class),
                    path: first.and_then(|row| row.path),
                    finished: kind == StallKind::OffCpu,
                    own: false,
                });
            }
        }
        operations
    }
}
