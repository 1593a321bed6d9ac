//! The operations to explain.

pub(crate) mod busy_times;
pub(crate) mod client_requests;
pub(crate) mod run_queue_waits;
pub(crate) mod series;
pub(crate) mod server_requests;
pub(crate) mod sleep;
pub(crate) mod sync_calls;
pub(crate) mod unfinished;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use model::operation::{OperationKind, OperationRecord, ROUND};
use model::stall::{Awaits, StallKind};
use model::system_call::traits;

use crate::blame::facts::cause::{self, Cause};
use crate::blame::facts::names::{Name, Names};
use crate::blame::facts::rows::{LONGEST_NS, Row, latest_sleep};
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::stacks::Stack;
use crate::blame::facts::stop::Stop;
use crate::blame::facts::times::joined;
use crate::blame::operations::busy_times::BusyTimes;
use crate::blame::operations::series::{in_calls, series};
use crate::blame::rule::Rule;
use crate::hashing::FastMap;
use crate::thresholds::SAME_FAULT_WITHIN_NS;

/// The class of a page fault outside a traced system call.
pub(crate) const PAGE_FAULT: &str = "page_fault";
/// The class of a polled wait of which nothing else is known.
const BLOCKED: &str = "blocked";
/// The class of a time in which the recorded command was stopped.
pub const STOPPED: &str = "stopped";

/// An operation.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub(crate) tid: u32,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) class: Name,
    pub(crate) path: Option<Name>,
    pub(crate) finished: bool,
    /// It began before the recording.
    pub(crate) cut: bool,
    /// An operation of the load.
    pub(crate) own: bool,
    /// Of an asynchronous operation: its row. Its time is not its task's.
    pub(crate) asynchronous: Option<u32>,
    /// A wait for another task, which may be idle.
    pub(crate) awaits: Option<Awaits>,
    /// Between its waits there may be some that are not recorded.
    pub(crate) has_gaps: bool,
    /// The rule by which it is a stall, where its own time does not show that.
    pub(crate) known_by: Option<&'static Rule>,
}

impl Operation {
    pub(crate) fn ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }

    /// Whether its waits matter whatever others do.
    pub(crate) fn is_of_subject(&self, index: &RunIndex) -> bool {
        self.own || index.subjects.contains(&self.tid)
    }

    /// Whether it belongs to the recorded command or to the load; `None` where neither was run.
    pub(crate) fn is_of_command(&self, index: &RunIndex) -> Option<bool> {
        index.has_command.then(|| self.own || index.of_command.contains(&self.tid))
    }
}

/// Operations of the load. A stuck operation that is reported repeatedly is one operation.
#[derive(Debug, Default)]
pub(crate) struct OwnOperations {
    all: Vec<Operation>,
    stuck: FastMap<(u32, u64), usize>,
}

impl OwnOperations {
    /// `false` for an inconsistent record.
    pub(crate) fn insert(&mut self, record: &OperationRecord, names: &mut Names) -> bool {
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
            cut: false,
            own: true,
            asynchronous: None,
            awaits: None,
            has_gaps: false,
            known_by: None,
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

    pub(crate) fn into_all(self) -> Vec<Operation> {
        self.all
    }
}

/// All operations: the load's, and those of other tasks outside of them.
pub(crate) fn all(index: &mut RunIndex, own: Vec<Operation>, slower_than_ns: u64) -> Vec<Operation> {
    let (page_fault, blocked) = (index.names.insert(PAGE_FAULT), index.names.insert(BLOCKED));
    let stopped = index.names.insert(STOPPED);
    let search = Search::new(index, &own, slower_than_ns);
    let mut operations: Vec<Operation> = own.into_iter().filter(|own| own.ns() >= slower_than_ns).collect();
    let mut found = search.asynchronous(blocked);
    let calls = search.calls(blocked, &found);
    found.extend(calls);
    let faults = |row: &Row| row.call.is_none() && index.stack(row.stack.get()).is_some_and(|stack| stack.faults);
    // Nobody idles in a page fault, whatever the pager (userfaultfd) does that hands out the page.
    let faults = search.waits(StallKind::OffCpu, &faults, SAME_FAULT_WITHIN_NS, page_fault, &found).into_iter();
    found.extend(faults.map(|fault| Operation { awaits: None, ..fault }).collect::<Vec<_>>());
    found.extend(search.together(blocked, &found, series));
    let awaits = |row: &Row| index.asked_ns(row).is_none() && index.awaits(row).is_some_and(Awaits::is_asked);
    found.extend(search.waits(StallKind::OffCpu, &awaits, 0, blocked, &found));
    let served = |row: &Row| index.awaits(row).is_none() && waits_for_server(index, row);
    found.extend(search.waits(StallKind::OffCpu, &served, 0, blocked, &found));
    let sends = |row: &Row| index.awaits(row).is_none() && index.subjects.contains(&row.tid) && never_idles(index, row);
    found.extend(search.waits(StallKind::OffCpu, &sends, 0, blocked, &found));
    let of_program = |row: &Row| {
        let stack = index.stack(row.stack.get());
        let stops = search.is_frozen(row)
            || row.is_stopped()
            || stack.and_then(|stack| stack.rule).is_some_and(|rule| rule.cause == Cause::Stopped);
        // A task that sleeps interruptibly may idle: only its stack shows that it waits for storage.
        let idles = row.interruptible
            && stack.is_none_or(|stack| stack.on_thread || stack.rule.is_none_or(|rule| rule.cause == Cause::Peer));
        let idles = idles && !(index.subjects.contains(&row.tid) && never_idles(index, row));
        !stops && !idles && !stack.is_some_and(|stack| stack.kernel_thread)
    };
    found.extend(search.waits(StallKind::Blocked, &of_program, 0, blocked, &found));
    found.extend(search.together(blocked, &found, in_calls));
    found.extend(search.stops(stopped, &found));
    operations.extend(found);
    operations
}

/// Whether a task waits for the program behind its file system, which it does in a sleep that a signal may end.
fn waits_for_server(index: &RunIndex, row: &Row) -> bool {
    let stack = index.stack(row.stack.get()).filter(|stack| !stack.idle && !stack.kernel_thread);
    let cause = stack.and_then(|stack| stack.rule).map(|rule| rule.cause);
    let is_for_server = || cause.is_some_and(|cause| cause.has(cause::traits::SERVER)) || index.is_answered(row);
    row.call.is_some() && stack.is_some() && is_for_server()
}

/// Whether a task sleeps in a call that sends something, until there is room for it: whatever the other end does.
fn never_idles(index: &RunIndex, row: &Row) -> bool {
    let rule = index.stack(row.stack.get()).and_then(|stack| stack.rule);
    row.interruptible && rule.is_some_and(|rule| rule.cause == Cause::Peer)
}

pub(crate) fn of_row(row: &Row, unnamed: Name) -> Operation {
    Operation {
        tid: row.tid,
        start_ns: row.start_ns,
        end_ns: row.end_ns,
        class: row.call.unwrap_or(unnamed),
        path: row.path,
        finished: !row.unfinished,
        cut: row.cut,
        own: false,
        asynchronous: None,
        awaits: None,
        has_gaps: false,
        known_by: None,
    }
}

/// From the first row to the last, in the call of the longest.
pub(crate) fn of_rows(index: &RunIndex, rows: &[&Row], unnamed: Name) -> Operation {
    let (first, last) = (rows[0], rows[rows.len() - 1]);
    let longest = rows.iter().max_by_key(|row| row.end_ns - row.start_ns).map_or(first, |row| *row);
    let lock = rows.iter().find_map(|row| index.awaits(row).filter(|awaits| *awaits == Awaits::Lock));
    Operation {
        start_ns: first.start_ns,
        end_ns: last.end_ns,
        finished: !last.unfinished && last.kind != StallKind::Blocked,
        cut: first.cut,
        awaits: lock.or(index.awaits(longest)),
        has_gaps: true,
        ..of_row(longest, unnamed)
    }
}

/// Finds rows that are one operation together, among those that are free.
type Together = for<'a> fn(&'a RunIndex, u64, &dyn Fn(&Row) -> bool) -> Vec<Vec<&'a Row>>;

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
    /// Times in which the freezer of a cgroup held a process.
    frozen: BusyTimes,
}

impl Search<'_> {
    fn new<'a>(index: &'a RunIndex, own: &[Operation], slower_than_ns: u64) -> Search<'a> {
        Search {
            index,
            slower_than_ns,
            loads: index.tasks.processes(own.iter().map(|own| (own.tid, own.start_ns))),
            by_task: BusyTimes::of(own.iter().map(|own| (own.tid, own.start_ns, own.end_ns))),
            by_load: BusyTimes::of(own.iter().map(|own| (0, own.start_ns, own.end_ns))),
            frozen: BusyTimes::of(index.rows.iter().filter(|row| row.stop == Some(Stop::Freezer)).map(|row| {
                let pid = index.tasks.process_of(row.tid, row.end_ns);
                (pid, row.start_ns, row.end_ns)
            })),
        }
    }

    /// Whether a poll took a task that is stopped or frozen for one that is blocked: /proc shows a frozen sleep as an
    /// uninterruptible one. All threads of a process are in its cgroup, and the tracer saw one of them at least.
    fn is_frozen(&self, row: &Row) -> bool {
        let mut around = self.index.rows_between(row.tid, row.start_ns, row.end_ns).map(|(_, row)| row);
        let pid = self.index.tasks.process_of(row.tid, row.end_ns);
        around.any(|around| around.kind == StallKind::OffCpu && around.is_stopped())
            || (!row.switched && self.frozen.overlaps(pid, row.start_ns, row.end_ns))
    }

    fn is_own(&self, row: &Row) -> bool {
        let of_load = || self.index.tasks.pid(row.tid, row.start_ns).is_some_and(|pid| self.loads.contains(&pid));
        self.by_task.overlaps(row.tid, row.start_ns, row.end_ns)
            || (self.by_load.overlaps(0, row.start_ns, row.end_ns) && of_load())
    }

    /// Slow asynchronous operations. One whose end was first seen too early has two rows, of which the longer counts.
    fn asynchronous(&self, unnamed: Name) -> Vec<Operation> {
        let rows = self.index.rows.iter().zip(0..).filter(|(row, _)| row.kind == StallKind::Asynchronous);
        let slow = rows.filter(|(row, _)| row.end_ns - row.start_ns >= self.slower_than_ns && !self.is_own(row));
        let mut longest: HashMap<_, (u64, Option<u32>, Option<u32>, u32)> = HashMap::new();
        for (row, at) in slow {
            let known = longest.entry((row.tid, row.start_ns, row.path, row.call)).or_default();
            *known = (*known).max((row.end_ns, row.request.get(), row.worker_tid.get(), at));
        }
        let mut kept: Vec<u32> = longest.into_values().map(|(.., at)| at).collect();
        kept.sort_unstable();
        let operation = |at: u32| Operation { asynchronous: Some(at), ..of_row(self.index.row(at), unnamed) };
        kept.into_iter().map(operation).collect()
    }

    /// Slow system calls, without those that wait for the completion of asynchronous operations.
    fn calls(&self, unnamed: Name, asynchronous: &[Operation]) -> Vec<Operation> {
        let pid = |tid: u32, at_ns: u64| self.index.tasks.process_of(tid, at_ns);
        let in_flight = BusyTimes::of(asynchronous.iter().map(|op| (pid(op.tid, op.end_ns), op.start_ns, op.end_ns)));
        let reaps = |row: &Row| {
            self.index.does(row, traits::REAPS)
                && in_flight.overlaps(pid(row.tid, row.end_ns), row.start_ns, row.end_ns)
        };
        let is_call = |row: &&Row| row.kind == StallKind::SystemCall && !self.is_own(row) && !reaps(row);
        let is_slow = |row: &&Row| row.end_ns - row.start_ns >= self.slower_than_ns;
        let is_idle = |row: &&Row| row.end_ns - row.start_ns < self.slower_than_ns + self.idle_ns(row);
        let slow = self.index.rows.iter().filter(is_call).filter(is_slow);
        slow.filter(|row| !is_idle(row)).map(|row| of_row(row, unnamed)).collect()
    }

    /// For how long a call waited for something to do (the `open` of a FIFO) or, of another program, for the kernel to
    /// detach a tracer.
    fn idle_ns(&self, call: &Row) -> u64 {
        let within = self.index.rows_between(call.tid, call.start_ns, call.end_ns).map(|(_, row)| row);
        let sleeps = within.filter(|row| row.kind == StallKind::OffCpu && row.start_ns >= call.start_ns);
        let is_others = !self.index.subjects.contains(&call.tid);
        let idles = |stack: &Stack| stack.idle || (stack.detaches && is_others);
        let idle = sleeps.filter(|row| self.index.stack(row.stack.get()).is_some_and(idles));
        idle.map(|row| row.runnable_ns.min(call.end_ns).saturating_sub(row.start_ns)).sum()
    }

    /// Times in which a process of the recorded command, or one that is asked about, was stopped. A signal stops all of
    /// its threads, a freezer too: the main one stands for them.
    fn stops(&self, class: Name, found: &[Operation]) -> Vec<Operation> {
        let is_stop = |row: &&Row| row.is_stopped() && self.index.subjects.contains(&row.tid) && !self.is_own(row);
        let pid = |row: &Row| self.index.tasks.process_of(row.tid, row.end_ns);
        let mut threads: HashMap<u32, u32> = HashMap::new();
        for row in self.index.rows.iter().filter(is_stop) {
            let thread = threads.entry(pid(row)).or_insert(row.tid);
            *thread = if row.tid == pid(row) { row.tid } else { *thread };
        }
        let is_slow = |row: &&Row| row.end_ns - row.start_ns >= self.slower_than_ns;
        let stops = self.index.rows.iter().filter(is_stop).filter(is_slow);
        let mut stops: Vec<&Row> = stops.filter(|row| threads.get(&pid(row)) == Some(&row.tid)).collect();
        // A whole wait is worth more than what a poll saw of it.
        stops.sort_by_key(|row| row.kind == StallKind::Blocked);
        let busy = found.iter().filter(|found| found.asynchronous.is_none());
        let mut busy = BusyTimes::of(busy.map(|found| (found.tid, found.start_ns, found.end_ns)));
        let mut operations = Vec::new();
        for row in stops.into_iter().filter(|row| matches!(row.kind, StallKind::OffCpu | StallKind::Blocked)) {
            if !busy.overlaps(row.tid, row.start_ns, row.end_ns) {
                busy.insert(row.tid, row.start_ns, row.end_ns);
                let finished = row.kind == StallKind::OffCpu;
                operations.push(Operation { class, path: None, finished, ..of_row(row, class) });
            }
        }
        operations
    }

    /// Waits of several rows that are one, as `find` says.
    fn together(&self, unnamed: Name, found: &[Operation], find: Together) -> Vec<Operation> {
        let busy = found.iter().filter(|found| found.asynchronous.is_none());
        let busy = BusyTimes::of(busy.map(|found| (found.tid, found.start_ns, found.end_ns)));
        let is_free = |row: &Row| !busy.overlaps(row.tid, row.start_ns, row.end_ns) && !self.is_own(row);
        let found = find(self.index, self.slower_than_ns, &is_free);
        let operations = found.iter().map(|rows| of_rows(self.index, rows, unnamed));
        operations.filter(|operation| operation.ns() >= self.slower_than_ns).collect()
    }

    /// Rows of that kind, joined across gaps, that overlap none of the operations already found. An operation starts
    /// with a row and takes the system call and file of that row.
    fn waits(
        &self,
        kind: StallKind,
        wanted: &dyn Fn(&Row) -> bool,
        gap_ns: u64,
        class: Name,
        found: &[Operation],
    ) -> Vec<Operation> {
        let busy = found.iter().filter(|found| found.asynchronous.is_none());
        let busy = BusyTimes::of(busy.map(|found| (found.tid, found.start_ns, found.end_ns)));
        let mut operations: Vec<Operation> = Vec::new();
        for (rows, latest_ends_ns) in self.index.tasks_rows() {
            let is_wanted = |row: &&Row| row.kind == kind && wanted(row) && !self.is_own(row);
            let times = joined(rows.iter().filter(is_wanted).map(|row| (row.start_ns, row.end_ns)).collect(), gap_ns);
            let tid = rows[0].tid;
            let free = times.into_iter().filter(|&(start_ns, end_ns)| !busy.overlaps(tid, start_ns, end_ns));
            for (start_ns, end_ns) in free.filter(|(from, to)| to - from >= self.slower_than_ns) {
                let first = latest_ends_ns.partition_point(|&latest_ns| latest_ns < start_ns);
                let until = rows.partition_point(|row| row.start_ns <= end_ns).max(first);
                let of_operation = rows[first..until].iter().filter(|row| row.end_ns >= start_ns).filter(is_wanted);
                let of_operation: Vec<&Row> = of_operation.collect();
                // A poll finds a wait late, and cannot know whether it ended right after.
                let ended = latest_sleep((rows, latest_ends_ns), start_ns, end_ns);
                let start_ns = ended.map_or(start_ns, |row| row.start_ns);
                let call_ns = of_operation.iter().filter(|row| row.call_start_ns > 0).map(|row| row.call_start_ns);
                operations.push(Operation {
                    start_ns: call_ns.fold(start_ns, u64::min),
                    end_ns: ended.map_or(end_ns, |row| row.end_ns.max(end_ns)),
                    class: of_operation.iter().find_map(|row| row.call).unwrap_or(class),
                    path: of_operation.iter().find_map(|row| row.path),
                    finished: (kind == StallKind::OffCpu && !of_operation.iter().any(|row| row.unfinished))
                        || ended.is_some_and(|row| !row.unfinished),
                    cut: of_operation.iter().any(|row| row.cut) || ended.is_some_and(|row| row.cut),
                    awaits: of_operation.iter().find_map(|row| self.index.awaits(row)),
                    ..of_row(&rows[0], class)
                });
            }
        }
        of_calls(operations)
    }
}

/// A call is one operation, however many of its waits were polled before it returned.
fn of_calls(mut operations: Vec<Operation>) -> Vec<Operation> {
    operations.dedup_by(|later, first| {
        let is_same = later.tid == first.tid && later.start_ns == first.start_ns;
        if is_same {
            first.finished = if later.end_ns > first.end_ns { later.finished } else { first.finished };
            first.end_ns = first.end_ns.max(later.end_ns);
            first.path = first.path.or(later.path);
            first.awaits = first.awaits.or(later.awaits);
            first.cut |= later.cut;
        }
        is_same
    });
    operations
}
