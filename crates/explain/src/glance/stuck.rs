//! Who is stuck at a moment.

use std::collections::HashMap;

use model::operation::{OperationKind, OperationRecord};
use model::run::RunDescription;
use model::stall::{StackRecord, StallKind, StallRecord, TaskRecord};

use crate::blame::Who;

/// Shorter waits are nothing to worry about.
const LEAST_NS: u64 = 100_000_000;
/// How late a wait that goes on may be told again: the look, the way to the archive, its flush.
const LATE_NS: u64 = 3_000_000_000;
/// The longest pause between two rows that tell of the same wait.
const LONGEST_PAUSE_NS: u64 = 30_000_000_000;
/// How long before a moment rows of the table `stalls` still matter for who is stuck then.
pub(super) const REACH_NS: u64 = LONGEST_PAUSE_NS + LATE_NS;
/// `TASK_UNINTERRUPTIBLE` and `TASK_NOLOAD` of the kernel: with the second it only idles.
const UNINTERRUPTIBLE: u32 = 0x2;
const NOLOAD: u32 = 0x400;

/// A task that is stuck.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stuck {
    /// Which.
    pub task: Who,
    /// Its cgroup.
    pub cgroup: Option<String>,
    /// What it does: class of the load, or system call, where that is known.
    pub operation: Option<String>,
    /// File.
    pub path: Option<String>,
    /// Since when, on the monotonic clock.
    pub since_ns: u64,
    /// For how long, at the moment.
    pub lasts_ns: u64,
    /// Kernel stack, innermost first; empty where it is not known.
    pub frames: Vec<String>,
}

/// A wait or an operation, told once or again and again.
#[derive(Debug, Clone, Default)]
struct Told {
    /// Up to when it was seen to go on.
    until_ns: u64,
    /// Whether that was its end.
    ended: bool,
    stack: Option<u32>,
    operation: Option<String>,
    path: Option<String>,
}

/// Collects what may go on at the moment.
#[derive(Debug)]
pub(super) struct StuckBuilder {
    at_ns: u64,
    /// Time between a load's reports.
    report_ns: u64,
    /// By thread and start.
    operations: HashMap<(u32, u64), Told>,
    waits: HashMap<(u32, u64), Told>,
    /// When a thread was last seen to have ended a wait or a call: what it was seen in before is over.
    moved_ns: HashMap<u32, u64>,
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
        let told = self.operations.entry((record.tid, record.start_ns)).or_default();
        if until_ns > told.until_ns || ended {
            let (operation, path) = (Some(record.class.clone()), record.path.clone());
            *told = Told { until_ns, ended, stack: None, operation, path };
        }
    }

    /// Whether the row may tell of somebody who is stuck.
    pub(super) fn stall(&mut self, record: &StallRecord) -> bool {
        let until_ns = record.end_ns();
        if record.start_ns > self.at_ns {
            return false;
        }
        let sleeps = |state: u32| state & (UNINTERRUPTIBLE | NOLOAD) == UNINTERRUPTIBLE;
        let places = match record.kind {
            StallKind::SystemCall => &mut self.operations,
            StallKind::Blocked | StallKind::StillBlocked => &mut self.waits,
            StallKind::OffCpu if record.state.is_some_and(sleeps) => &mut self.waits,
            _ => return false,
        };
        let ended = record.kind != StallKind::StillBlocked;
        if ended && until_ns <= self.at_ns {
            let moved_ns = self.moved_ns.entry(record.tid).or_default();
            *moved_ns = until_ns.max(*moved_ns);
        }
        let may_go_on = if ended { until_ns > self.at_ns } else { true };
        if may_go_on || places.contains_key(&(record.tid, record.start_ns)) {
            let told = places.entry((record.tid, record.start_ns)).or_default();
            if until_ns > told.until_ns || ended {
                let (operation, path) = (record.call.clone(), record.path.clone());
                *told = Told { until_ns, ended, stack: record.stack, operation, path };
            }
        }
        may_go_on
    }

    pub(super) fn task(&mut self, task: &TaskRecord) {
        let is_later = |known: &TaskRecord| known.seen_ns <= task.seen_ns && task.seen_ns <= self.at_ns;
        if self.tasks.get(&task.tid).is_none_or(is_later) {
            self.tasks.insert(task.tid, task.clone());
        }
    }

    pub(super) fn stack(&mut self, stack: &StackRecord) {
        self.stacks.insert(stack.stack, stack.frames.clone());
    }

    pub(super) fn finish(self) -> Vec<Stuck> {
        let mut found: HashMap<u32, Stuck> = HashMap::new();
        for (&(tid, since_ns), told) in &self.operations {
            if self.goes_on(tid, since_ns, told, 2 * self.report_ns) {
                self.add(&mut found, tid, since_ns, told);
            }
        }
        for (&(tid, since_ns), told) in &self.waits {
            // As [`StallKind::StillBlocked`] is told: the longer it lasts, the less often.
            let pause_ns = (told.until_ns.saturating_sub(since_ns) / 4).min(LONGEST_PAUSE_NS);
            if self.goes_on(tid, since_ns, told, pause_ns) {
                self.add(&mut found, tid, since_ns, told);
            }
        }
        let mut stuck: Vec<Stuck> = found.into_values().collect();
        stuck.sort_by_key(|one| (one.since_ns, one.task.tid));
        stuck
    }

    fn goes_on(&self, tid: u32, since_ns: u64, told: &Told, pause_ns: u64) -> bool {
        if self.at_ns - since_ns < LEAST_NS {
            return false;
        }
        if told.ended || told.until_ns > self.at_ns {
            return told.until_ns > self.at_ns;
        }
        let moved = self.moved_ns.get(&tid).is_some_and(|&moved_ns| moved_ns > told.until_ns);
        !moved && self.at_ns - told.until_ns <= LATE_NS + pause_ns
    }

    /// What a thread does and what it waits for are told apart.
    fn add(&self, found: &mut HashMap<u32, Stuck>, tid: u32, since_ns: u64, told: &Told) {
        let task = self.tasks.get(&tid);
        let one = found.entry(tid).or_insert_with(|| Stuck {
            task: Who { tid, name: task.map(|task| task.name.clone()) },
            cgroup: task.and_then(|task| task.cgroup.clone()),
            operation: None,
            path: None,
            since_ns,
            lasts_ns: 0,
            frames: Vec::new(),
        });
        one.since_ns = since_ns.min(one.since_ns);
        one.lasts_ns = self.at_ns - one.since_ns;
        one.operation = one.operation.take().or_else(|| told.operation.clone());
        one.path = one.path.take().or_else(|| told.path.clone());
        if let Some(frames) = told.stack.and_then(|stack| self.stacks.get(&stack)) {
            one.frames.clone_from(frames);
        }
    }
}
