//! Checks rows as they arrive, and reports which conditions are met.

use std::collections::HashMap;

use model::metric::{MetricChange, MetricDescriptor, SampleHeader};
use model::quantity::Nanoseconds;
use model::stall::{Awaits, StallKind, StallRecord};

use super::condition::{Condition, shown};
use super::rate::{Rate, WINDOW_NS};

/// The kernel's `TASK_UNINTERRUPTIBLE`: only the awaited event ends the sleep.
const UNINTERRUPTIBLE: u32 = 0x2;
/// The kernel's `TASK_NOLOAD`: an idle kernel thread that waits for work, not for a device.
const NO_LOAD: u32 = 0x400;
/// `__TASK_STOPPED | __TASK_TRACED | TASK_FROZEN`: it goes on when another task says so.
const STOPPED: u32 = 0x4 | 0x8 | 0x8000;
/// Tasks through which a wait is followed.
const FOLLOWED: usize = 8;

/// A stall that meets a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Met {
    /// Index of the condition.
    pub condition: usize,
    /// When it was met, on the monotonic clock.
    pub at_ns: u64,
    /// Description.
    pub reason: String,
}

/// Whether a condition on counters holds at a sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// Index of the condition.
    pub condition: usize,
    /// Description; `None` while it does not hold.
    pub reason: Option<String>,
}

/// Conditions and their state. Memory does not grow with time.
#[derive(Debug)]
pub struct ConditionWatch {
    conditions: Vec<Condition>,
    /// Time over which counters are watched.
    window_ns: u64,
    /// One for each condition; empty for conditions without counters.
    rates: Vec<Rate>,
    /// Start of the reported wait of each blocked task.
    blocked: HashMap<u32, u64>,
    /// When the wait of each task that is kept waiting was seen last, of those that were reported.
    kept_waiting: HashMap<u32, u64>,
}

impl ConditionWatch {
    /// A watch without any rows yet.
    pub fn new(conditions: Vec<Condition>) -> ConditionWatch {
        ConditionWatch::with_window(conditions, WINDOW_NS)
    }

    /// The same with counters over another time than ten seconds.
    pub fn with_window(conditions: Vec<Condition>, window_ns: u64) -> ConditionWatch {
        let rates = conditions.iter().map(|_| Rate::over(window_ns)).collect();
        ConditionWatch { conditions, window_ns, rates, blocked: HashMap::new(), kept_waiting: HashMap::new() }
    }

    /// The conditions.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// The shortest stall that meets a condition.
    pub fn shortest_stall_ns(&self) -> Option<u64> {
        self.stall_conditions().map(|(_, at_least_ns)| at_least_ns).min()
    }

    /// Adds metrics as they appear. Known metrics may be repeated.
    pub fn describe(&mut self, descriptors: &[MetricDescriptor]) {
        for (condition, rate) in self.conditions.iter().zip(&mut self.rates) {
            descriptors.iter().filter(|descriptor| condition.uses(descriptor)).for_each(|found| rate.add(found));
        }
    }

    /// Forgets all metrics: their ids change, and they will be described again.
    pub fn forget_metrics(&mut self) {
        self.rates.iter_mut().for_each(|rate| *rate = Rate::over(self.window_ns));
    }

    /// Adds a sample; returns for each condition on counters whether it holds.
    pub fn sample(&mut self, header: &SampleHeader, changes: &[MetricChange]) -> Vec<Level> {
        let mut levels = Vec::new();
        for (index, (condition, rate)) in self.conditions.iter().zip(&mut self.rates).enumerate() {
            if matches!(condition, Condition::Stall { .. }) {
                continue;
            }
            changes.iter().for_each(|change| rate.change(change));
            let reason = rate.at(header.at.monotonic_ns).and_then(|per_s| condition.reached(per_s, self.window_ns));
            levels.push(Level { condition: index, reason });
        }
        levels
    }

    /// Adds finished stalls: slow system calls and uninterruptible waits.
    pub fn stalls(&self, stalls: &[StallRecord], name_of: impl Fn(u32) -> Option<String>) -> Vec<Met> {
        let mut met = Vec::new();
        for stall in stalls {
            let Some(lasted_ns) = lasted_ns(stall) else { continue };
            let Some(condition) = self.stall_condition(lasted_ns) else { continue };
            let (who, lasted) = (task(stall.tid, &name_of), Nanoseconds(lasted_ns));
            let of = stall.path.as_ref().map_or(String::new(), |path| format!(" of {path}"));
            let reason = match (stall.kind, &stall.call) {
                (StallKind::SystemCall | StallKind::Asynchronous, call) => {
                    format!("{}{of} by {who} took {lasted}", call.as_deref().unwrap_or("a system call"))
                }
                (_, Some(call)) => format!("{who} was blocked for {lasted} in {call}"),
                (_, None) => format!("{who} was blocked for {lasted}"),
            };
            met.push(Met { condition, at_ns: stall.end_ns(), reason });
        }
        met
    }

    /// Adds the tasks blocked at `now_ns`, with the start of each wait. A wait is reported once.
    pub fn blocked(
        &mut self,
        now_ns: u64,
        tasks: impl IntoIterator<Item = (u32, u64)>,
        name_of: impl Fn(u32) -> Option<String>,
    ) -> Vec<Met> {
        let before = std::mem::take(&mut self.blocked);
        let mut met = Vec::new();
        for (tid, since_ns) in tasks {
            let lasted_ns = now_ns.saturating_sub(since_ns);
            let Some(condition) = self.stall_condition(lasted_ns) else { continue };
            if before.get(&tid) != Some(&since_ns) {
                let reason = format!("{} has been blocked for {}", task(tid, &name_of), Nanoseconds(lasted_ns));
                met.push(Met { condition, at_ns: now_ns, reason });
            }
            self.blocked.insert(tid, since_ns);
        }
        met
    }

    /// Adds what threads wait for at `now_ns` that have not been woken: all rows of the kind `LastingWait`. Those
    /// count that are kept waiting: for a lock or room that another task has, or for one that cannot go on. A wait is
    /// reported once.
    pub fn lasting_waits(
        &mut self,
        now_ns: u64,
        waits: &[StallRecord],
        name_of: impl Fn(u32) -> Option<String>,
    ) -> Vec<Met> {
        let before = std::mem::take(&mut self.kept_waiting);
        let by_task: HashMap<u32, &StallRecord> = waits.iter().map(|wait| (wait.tid, wait)).collect();
        let kept = |wait: &StallRecord| Some((wait.tid, wait.holder_tid?, kept_waiting(wait, &by_task)?));
        let mut kept: Vec<(u32, u32, KeptWaiting)> = waits.iter().filter_map(kept).collect();
        // Those that wait for them say less.
        kept.sort_by_key(|(.., waiting)| waiting.steps);
        let mut met = Vec::new();
        for (tid, by, KeptWaiting { since_ns, .. }) in kept {
            let lasted_ns = now_ns.saturating_sub(since_ns);
            let Some(condition) = self.stall_condition(lasted_ns) else { continue };
            if before.get(&tid).is_none_or(|seen_ns| since_ns > *seen_ns) {
                let (who, by, lasted) = (task(tid, &name_of), task(by, &name_of), Nanoseconds(lasted_ns));
                met.push(Met { condition, at_ns: now_ns, reason: format!("{who} has waited for {by} for {lasted}") });
            }
            self.kept_waiting.insert(tid, now_ns);
        }
        met
    }

    /// Conditions on counters that have not appeared yet.
    pub fn unmatched(&self) -> impl Iterator<Item = &Condition> {
        let waiting = self.conditions.iter().zip(&self.rates).filter(|(_, rate)| rate.is_empty());
        waiting.map(|(condition, _)| condition).filter(|condition| !matches!(condition, Condition::Stall { .. }))
    }

    fn stall_conditions(&self) -> impl Iterator<Item = (usize, u64)> {
        self.conditions.iter().enumerate().filter_map(|(index, condition)| match condition {
            Condition::Stall { at_least_ns } => Some((index, *at_least_ns)),
            _ => None,
        })
    }

    /// The condition that a stall of this length meets; of several, that with the highest threshold.
    fn stall_condition(&self, lasted_ns: u64) -> Option<usize> {
        let met = self.stall_conditions().filter(|(_, at_least_ns)| lasted_ns >= *at_least_ns);
        met.max_by_key(|(_, at_least_ns)| *at_least_ns).map(|(index, _)| index)
    }
}

impl Condition {
    /// Whether the condition uses that metric.
    pub fn uses(&self, metric: &MetricDescriptor) -> bool {
        match self {
            Condition::Stall { .. } => false,
            Condition::Pressure { resource, extent, .. } => {
                let kind = metric.name.strip_prefix("pressure.").and_then(|kind| kind.split_once('.'));
                metric.instance.is_empty() && kind == Some((resource, extent))
            }
            Condition::Rate { metric: name, instance, .. } => {
                metric.name == *name && instance.as_ref().is_none_or(|instance| metric.is_instance(instance))
            }
        }
    }

    /// Description of a rate above the condition's limit.
    fn reached(&self, per_s: f64, window_ns: u64) -> Option<String> {
        let window = Nanoseconds(window_ns);
        match self {
            Condition::Stall { .. } => None,
            // The totals of /proc/pressure are microseconds.
            Condition::Pressure { resource, extent, above_share } => (per_s / 1e6 > *above_share).then(|| {
                let percent = shown(((per_s / 1e4) * 10.0).round() / 10.0);
                format!("pressure on {resource} ({extent}) was {percent} % over {window}")
            }),
            Condition::Rate { metric, above_per_s, .. } => {
                (per_s > *above_per_s).then(|| format!("{metric} grew by {}/s over {window}", shown(per_s)))
            }
        }
    }
}

/// A wait of a task that another one keeps waiting.
struct KeptWaiting {
    since_ns: u64,
    /// Tasks between it and the one at the end.
    steps: usize,
}

/// Whether a task is kept waiting: it waits for what another one has, or the task at the end of its waits cannot go on.
/// Only a request that was sent says that the task before wants something: a shell waits for its child, and a server
/// for requests, for hours.
fn kept_waiting(wait: &StallRecord, by_task: &HashMap<u32, &StallRecord>) -> Option<KeptWaiting> {
    let (mut wait, mut since_ns) = (wait, wait.start_ns);
    for steps in 0..FOLLOWED {
        match wait.awaits? {
            Awaits::Lock | Awaits::Room => return Some(KeptWaiting { since_ns, steps }),
            Awaits::Answer | Awaits::AnswerOfChild => {}
            _ => return None,
        }
        wait = by_task.get(&wait.holder_tid?)?;
        // A wait lasts as long as what it is for.
        since_ns = since_ns.max(wait.start_ns);
        if wait.state.is_some_and(|state| state & (STOPPED | UNINTERRUPTIBLE) != 0 && state & NO_LOAD == 0) {
            return Some(KeptWaiting { since_ns, steps });
        }
    }
    None
}

/// How long a task was blocked by a stall; `None` for other records.
fn lasted_ns(stall: &StallRecord) -> Option<u64> {
    match stall.kind {
        StallKind::SystemCall | StallKind::Asynchronous => Some(stall.duration_ns),
        StallKind::OffCpu => {
            let blocked = stall.state.is_some_and(|state| state & UNINTERRUPTIBLE != 0 && state & NO_LOAD == 0);
            // After the wakeup it waited on the run queue.
            let end_ns = stall.woken_ns.unwrap_or(stall.end_ns());
            blocked.then(|| end_ns.saturating_sub(stall.start_ns))
        }
        _ => None,
    }
}

fn task(tid: u32, name_of: &impl Fn(u32) -> Option<String>) -> String {
    name_of(tid).map_or_else(|| format!("task {tid}"), |name| format!("{name}/{tid}"))
}
