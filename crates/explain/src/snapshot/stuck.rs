//! Tasks stuck at a moment.

use std::collections::HashMap;

use model::operation::{OperationKind, OperationRecord};
use model::run::RunDescription;
use model::stall::{StackRecord, StallKind, StallRecord, TaskRecord};

use crate::blame::{Stall, TaskId};

/// Shorter waits do not count as stuck.
const LEAST_NS: u64 = 100_000_000;
/// Maximum delay of the next report of a lasting wait: the poll, the way to the archive, its flush.
pub(super) const LATE_NS: u64 = 3_000_000_000;
/// Maximum pause between two reports of the same wait.
const LONGEST_PAUSE_NS: u64 = 30_000_000_000;
/// Rows of the table `stalls` matter for this long after their end.
pub(super) const REACH_NS: u64 = LONGEST_PAUSE_NS + LATE_NS;
/// `TASK_INTERRUPTIBLE`, `TASK_UNINTERRUPTIBLE` and `TASK_NOLOAD` of the kernel; a task with the second is idle.
const INTERRUPTIBLE: u32 = 0x1;
const UNINTERRUPTIBLE: u32 = 0x2;
const NOLOAD: u32 = 0x400;

/// A stuck task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stuck {
    /// The task.
    pub task: TaskId,
    /// Its cgroup.
    pub cgroup: Option<String>,
    /// Its cgroup of the I/O controller, where that is another one.
    pub io_cgroup: Option<String>,
    /// Class of the load, or system call, if known.
    pub operation: Option<String>,
    /// File.
    pub path: Option<String>,
    /// Start on the monotonic clock.
    pub since_ns: u64,
    /// Duration at the moment.
    pub lasts_ns: u64,
    /// Who holds the lock that it waits for, if known.
    pub holder: Option<TaskId>,
    /// Whom it waits for otherwise, if known: the task from which it wants an answer, room or a message.
    pub peer: Option<TaskId>,
    /// Kernel stack, innermost first; empty if unknown.
    pub frames: Vec<String>,
}

impl Stuck {
    /// Those that it is in, as far as they are known.
    pub(super) fn cgroups(&self) -> impl Iterator<Item = &str> + Clone {
        [&self.cgroup, &self.io_cgroup].into_iter().flatten().map(String::as_str)
    }
}

/// A wait or an operation, as reported last.
#[derive(Debug, Clone, Default)]
struct Seen {
    /// Last time at which it was seen.
    until_ns: u64,
    /// Whether it ended then.
    ended: bool,
    stack: Option<u32>,
    holder: Option<u32>,
    operation: Option<String>,
    path: Option<String>,
}

/// Collects waits and operations that may last until the moment.
#[derive(Debug)]
pub(super) struct StuckBuilder {
    at_ns: u64,
    /// Time between a load's reports.
    report_ns: u64,
    /// By thread and start.
    operations: HashMap<(u32, u64), Seen>,
    waits: HashMap<(u32, u64), Seen>,
    /// When a thread last ended a wait or a call: everything before is over.
    moved_ns: HashMap<u32, u64>,
    /// Of threads that wait for an answer: when they asked, and when that was seen last.
    asking_ns: HashMap<u32, (u64, u64)>,
    /// When /proc showed last that a thread had not been woken.
    lasting_ns: HashMap<u32, u64>,
    tasks: HashMap<u32, TaskRecord>,
    stacks: HashMap<u32, Vec<String>>,
}

impl StuckBuilder {
    pub(super) fn new(run: &RunDescription, at_ns: u64) -> StuckBuilder {
        StuckBuilder {
            at_ns,
            report_ns: run.report_interval_ns.unwrap_or(0),
            operations: HashMap::new(),
            waits: HashMap::new(),
            moved_ns: HashMap::new(),
            asking_ns: HashMap::new(),
            lasting_ns: HashMap::new(),
            tasks: HashMap::new(),
            stacks: HashMap::new(),
        }
    }

    pub(super) fn operation(&mut self, record: &OperationRecord) {
        if record.start_ns > self.at_ns {
            return;
        }
        let until_ns = record.start_ns.saturating_add(record.duration_ns);
        let ended = record.kind != OperationKind::Stuck;
        let seen = self.operations.entry((record.tid, record.start_ns)).or_default();
        if until_ns > seen.until_ns || ended {
            let (operation, path) = (Some(record.class.clone()), record.path.clone());
            *seen = Seen { until_ns, ended, operation, path, ..Seen::default() };
        }
    }

    /// Whether the row may be of a stuck task.
    pub(super) fn stall(&mut self, record: &StallRecord) -> bool {
        let until_ns = record.end_ns();
        if record.start_ns > self.at_ns {
            return false;
        }
        if let (StallKind::StillBlocked, Some(asked_ns)) = (record.kind, record.asked_ns) {
            let known = self.asking_ns.entry(record.tid).or_default();
            *known = (asked_ns, until_ns).max(*known);
        }
        let sleeps = |state: u32| state & (UNINTERRUPTIBLE | NOLOAD) == UNINTERRUPTIBLE;
        // The tracer reports an interruptible sleep while it lasts if it is one in a call on files, or of a task that
        // may idle.
        let may_stall = |state: u32| sleeps(state) || (state & INTERRUPTIBLE != 0 && record.awaits.is_none());
        let entries = match record.kind {
            StallKind::SystemCall => &mut self.operations,
            // Of a wait that is not a poll's, the state is known. It may be a stop, or interruptible.
            StallKind::Blocked | StallKind::StillBlocked if record.state.is_none_or(may_stall) => &mut self.waits,
            StallKind::OffCpu if record.state.is_some_and(sleeps) => &mut self.waits,
            _ => return false,
        };
        let ended = record.kind != StallKind::StillBlocked;
        if ended && until_ns <= self.at_ns {
            let moved_ns = self.moved_ns.entry(record.tid).or_default();
            *moved_ns = until_ns.max(*moved_ns);
        }
        let may_last = if ended { until_ns > self.at_ns } else { true };
        if may_last || entries.contains_key(&(record.tid, record.start_ns)) {
            let seen = entries.entry((record.tid, record.start_ns)).or_default();
            if until_ns > seen.until_ns || ended {
                let (operation, path) = (record.call.clone(), record.path.clone());
                *seen = Seen { until_ns, ended, stack: record.stack, holder: record.holder_tid, operation, path };
            }
        }
        may_last
    }

    /// Whether a wait that /proc showed may last: after all rows of stalls. A thread that polls for its answer is woken
    /// now and then.
    pub(super) fn lasting_wait(&mut self, record: &StallRecord) -> bool {
        let seen_ns = record.end_ns();
        let moved_ns = self.moved_ns.get(&record.tid).copied().unwrap_or(0);
        let asking = self
            .asking_ns
            .get(&record.tid)
            .filter(|(asked_ns, until_ns)| *asked_ns <= seen_ns && moved_ns <= *until_ns);
        let lasts = moved_ns <= seen_ns || asking.is_some();
        if lasts {
            let until_ns = asking.map_or(seen_ns, |(_, until_ns)| seen_ns.max(*until_ns));
            self.lasting_ns.insert(record.tid, until_ns.min(self.at_ns));
        }
        lasts
    }

    pub(super) fn task(&mut self, task: &TaskRecord) {
        let is_later = |kept: &TaskRecord| kept.seen_ns <= task.seen_ns && task.seen_ns <= self.at_ns;
        if self.tasks.get(&task.tid).is_none_or(is_later) {
            self.tasks.insert(task.tid, task.clone());
        }
    }

    pub(super) fn stack(&mut self, stack: &StackRecord) {
        self.stacks.insert(stack.stack, stack.frames.clone());
    }

    /// The stalls of the explanation, with their whole times, have those that sleep as an idle task does, and wait for
    /// one that is stuck.
    pub(super) fn finish(self, stalls: &[Stall], whole: &[(u64, u64)]) -> Vec<Stuck> {
        let mut found: HashMap<u32, Stuck> = HashMap::new();
        for (&(tid, since_ns), seen) in &self.operations {
            if self.lasts(tid, since_ns, seen, 2 * self.report_ns) {
                self.add(&mut found, tid, since_ns, seen);
            }
        }
        for (&(tid, since_ns), seen) in &self.waits {
            // [`StallKind::StillBlocked`] is reported less often the longer the wait lasts.
            let pause_ns = (seen.until_ns.saturating_sub(since_ns) / 4).min(LONGEST_PAUSE_NS);
            if self.lasts(tid, since_ns, seen, pause_ns) {
                self.add(&mut found, tid, since_ns, seen);
            }
        }
        for (stall, (since_ns, _)) in stalls.iter().zip(whole).filter(|(stall, _)| !stall.finished) {
            self.add_explained(&mut found, stall, *since_ns);
        }
        let mut stuck: Vec<Stuck> = found.into_values().collect();
        stuck.sort_by_key(|stuck| (stuck.since_ns, stuck.task.tid));
        stuck
    }

    fn lasts(&self, tid: u32, since_ns: u64, seen: &Seen, pause_ns: u64) -> bool {
        if self.at_ns - since_ns < LEAST_NS {
            return false;
        }
        if seen.ended || seen.until_ns > self.at_ns {
            return seen.until_ns > self.at_ns;
        }
        let moved = self.moved_ns.get(&tid).is_some_and(|&moved_ns| moved_ns > seen.until_ns);
        !moved && self.at_ns - seen.until_ns <= LATE_NS + pause_ns
    }

    fn add_explained(&self, found: &mut HashMap<u32, Stuck>, stall: &Stall, since_ns: u64) {
        let tid = stall.task.tid;
        let Some(until_ns) = self.lasting_ns.get(&tid).copied() else { return };
        let seen =
            Seen { until_ns, operation: Some(stall.operation.clone()), path: stall.path.clone(), ..Seen::default() };
        if self.at_ns - since_ns < LEAST_NS || until_ns + LATE_NS < self.at_ns {
            return;
        }
        self.add(found, tid, since_ns, &seen);
        let Some(stuck) = found.get_mut(&tid).filter(|stuck| stuck.holder.is_none()) else { return };
        stuck.peer = stall.chain.get(1).and_then(|link| link.task.clone());
        if let Some(link) = stall.chain.first().filter(|_| stuck.frames.is_empty()) {
            stuck.frames.clone_from(&link.kernel_stack);
        }
    }

    /// Merges a thread's operation and its wait.
    fn add(&self, found: &mut HashMap<u32, Stuck>, tid: u32, since_ns: u64, seen: &Seen) {
        let task = self.tasks.get(&tid);
        let stuck = found.entry(tid).or_insert_with(|| Stuck {
            task: TaskId { tid, name: task.map(|task| task.name.clone()) },
            cgroup: task.and_then(|task| task.cgroup.clone()),
            io_cgroup: task.and_then(|task| task.io_cgroup.clone()),
            operation: None,
            path: None,
            since_ns,
            lasts_ns: 0,
            holder: None,
            peer: None,
            frames: Vec::new(),
        });
        stuck.since_ns = since_ns.min(stuck.since_ns);
        stuck.lasts_ns = self.at_ns - stuck.since_ns;
        stuck.operation = stuck.operation.take().or_else(|| seen.operation.clone());
        stuck.path = stuck.path.take().or_else(|| seen.path.clone());
        if let Some(tid) = seen.holder {
            let name = self.tasks.get(&tid).map(|holder| holder.name.clone());
            stuck.holder = Some(TaskId { tid, name });
        }
        if let Some(frames) = seen.stack.and_then(|stack| self.stacks.get(&stack)) {
            stuck.frames.clone_from(frames);
        }
    }
}
