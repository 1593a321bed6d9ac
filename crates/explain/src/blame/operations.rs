//! Which times are operations to be explained.

use std::collections::HashMap;

use model::operation::{OperationKind, OperationRecord};
use model::stall::StallKind;

use super::names::{Name, Names};
use super::rows::{LONGEST_NS, Row};
use super::run_index::RunIndex;

/// The class of a page fault outside of a followed system call.
const PAGE_FAULT: &str = "page_fault";
/// The class of a wait that was looked at, of which nothing else is kept.
const BLOCKED: &str = "blocked";
/// The class of a round of the load's combined work: it is slow because a step of it was.
pub(super) const ROUND: &str = "round";
/// Sleeps of one page fault may be so far apart: the handler works between them.
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
    /// The load's.
    pub(super) own: bool,
}

impl Operation {
    pub(super) fn ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }
}

/// Operations of the load's own, as they come. One that is seen again and again while it is stuck is one.
#[derive(Debug, Default)]
pub(super) struct OwnOperations {
    all: Vec<Operation>,
    stuck: HashMap<(u32, u64), usize>,
}

impl OwnOperations {
    /// `false`: the record contradicts itself.
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

/// Times that are taken, by task; ordered, apart from each other.
#[derive(Debug, Default)]
struct Taken(HashMap<u32, Vec<(u64, u64)>>);

impl Taken {
    fn of(times: impl Iterator<Item = (u32, u64, u64)>) -> Taken {
        let mut taken: HashMap<u32, Vec<(u64, u64)>> = HashMap::new();
        for (who, start_ns, end_ns) in times {
            taken.entry(who).or_default().push((start_ns, end_ns));
        }
        for times in taken.values_mut() {
            *times = joined(std::mem::take(times), 0);
        }
        Taken(taken)
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

/// All operations: the load's own, and those of other tasks that lie in none of them.
pub(super) fn all(index: &mut RunIndex, own: Vec<Operation>, slower_than_ns: u64) -> Vec<Operation> {
    let (page_fault, blocked) = (index.names.insert(PAGE_FAULT), index.names.insert(BLOCKED));
    let loads = index.tasks.processes(own.iter().map(|own| (own.tid, own.start_ns)));
    let by_task = Taken::of(own.iter().map(|own| (own.tid, own.start_ns, own.end_ns)));
    // What the load's other threads do meanwhile belongs to the operation of the one that waits for them.
    let by_load = Taken::of(own.iter().map(|own| (0, own.start_ns, own.end_ns)));
    let is_own = |row: &Row| {
        let of_load = || index.tasks.pid(row.tid, row.start_ns).is_some_and(|pid| loads.contains(&pid));
        by_task.overlaps(row.tid, row.start_ns, row.end_ns)
            || (by_load.overlaps(0, row.start_ns, row.end_ns) && of_load())
    };
    let mut operations: Vec<Operation> = own.into_iter().filter(|own| own.ns() >= slower_than_ns).collect();
    let before = operations.len();
    let calls = index.rows.iter().filter(|row| row.kind == StallKind::SystemCall && !is_own(row));
    operations.extend(calls.filter(|row| row.end_ns - row.start_ns >= slower_than_ns).map(|row| Operation {
        tid: row.tid,
        start_ns: row.start_ns,
        end_ns: row.end_ns,
        class: row.call.unwrap_or(blocked),
        path: row.path,
        finished: true,
        own: false,
    }));
    // What is found begins with a row, whose system call and file, where it has them, are those of the operation.
    let waits = |kind: StallKind, wanted: &dyn Fn(&Row) -> bool, gap_ns: u64, class: Name, taken: &Taken| {
        let mut found: Vec<Operation> = Vec::new();
        for rows in index.rows.chunk_by(|a, b| a.tid == b.tid) {
            let is_wanted = |row: &&Row| row.kind == kind && wanted(row) && !is_own(row);
            let times = joined(rows.iter().filter(is_wanted).map(|row| (row.start_ns, row.end_ns)).collect(), gap_ns);
            let tid = rows[0].tid;
            let free = times.into_iter().filter(|&(start_ns, end_ns)| !taken.overlaps(tid, start_ns, end_ns));
            for (start_ns, end_ns) in free.filter(|(from, to)| to - from >= slower_than_ns) {
                let first = rows.iter().filter(is_wanted).find(|row| row.start_ns == start_ns);
                found.push(Operation {
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
        found
    };
    let taken = |operations: &[Operation]| Taken::of(operations.iter().map(|one| (one.tid, one.start_ns, one.end_ns)));
    let faults = |row: &Row| row.call.is_none() && index.stack(row.stack).is_some_and(|stack| stack.faults);
    let found = waits(StallKind::OffCpu, &faults, SAME_FAULT_NS, page_fault, &taken(&operations[before..]));
    operations.extend(found);
    let of_program = |row: &Row| !index.stack(row.stack).is_some_and(|stack| stack.kernel_thread);
    let found = waits(StallKind::Blocked, &of_program, 0, blocked, &taken(&operations[before..]));
    operations.extend(found);
    operations
}
