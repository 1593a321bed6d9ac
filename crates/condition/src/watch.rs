//! Looks at rows as they come, and says which conditions are met.

use std::collections::HashMap;

use model::metric::{Change, MetricDescriptor, SampleHeader};
use model::quantity::Nanoseconds;
use model::stall::{StallKind, StallRecord};

use super::condition::{Condition, shown};
use super::rate::{Rate, WINDOW_NS};

/// The kernel's `TASK_UNINTERRUPTIBLE`: neither signals nor anything else than what is waited for ends the sleep.
const UNINTERRUPTIBLE: u32 = 0x2;
/// The kernel's `TASK_NOLOAD`: an idle kernel thread, which waits for work and not for a device.
const NO_LOAD: u32 = 0x400;

/// A stall that meets a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Met {
    /// Which condition, by its place among those given.
    pub condition: usize,
    /// When it was met, on the monotonic clock.
    pub at_ns: u64,
    /// What was seen.
    pub reason: String,
}

/// Whether a condition on counters holds at a sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// Which condition, by its place among those given.
    pub condition: usize,
    /// What was seen; `None` where it does not hold.
    pub reason: Option<String>,
}

/// Conditions, and what was seen so far. Its memory does not grow with time.
#[derive(Debug)]
pub struct ConditionWatch {
    conditions: Vec<Condition>,
    /// One for each condition; unused ones stay empty.
    rates: Vec<Rate>,
    /// Since when tasks are blocked that were told of.
    blocked: HashMap<u32, u64>,
}

impl ConditionWatch {
    /// Nothing was seen yet.
    pub fn new(conditions: Vec<Condition>) -> ConditionWatch {
        let rates = conditions.iter().map(|_| Rate::default()).collect();
        ConditionWatch { conditions, rates, blocked: HashMap::new() }
    }

    /// The conditions.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// The shortest stall that meets a condition.
    pub fn shortest_stall_ns(&self) -> Option<u64> {
        self.stalls_asked_for().map(|(_, at_least_ns)| at_least_ns).min()
    }

    /// Takes metrics as they appear. Those that are known may be told again.
    pub fn describe(&mut self, descriptors: &[MetricDescriptor]) {
        for (condition, rate) in self.conditions.iter().zip(&mut self.rates) {
            descriptors.iter().filter(|descriptor| condition.looks_at(descriptor)).for_each(|found| rate.add(found));
        }
    }

    /// Metrics have other numbers from now on, and are described anew.
    pub fn forget_metrics(&mut self) {
        self.rates.iter_mut().for_each(|rate| *rate = Rate::default());
    }

    /// Takes a sample, and says of each condition on counters whether it holds.
    pub fn sample(&mut self, header: &SampleHeader, changes: &[Change]) -> Vec<Level> {
        let mut levels = Vec::new();
        for (index, (condition, rate)) in self.conditions.iter().zip(&mut self.rates).enumerate() {
            if matches!(condition, Condition::Stall { .. }) {
                continue;
            }
            changes.iter().for_each(|change| rate.change(change));
            let reason = rate.at(header.at.monotonic_ns).and_then(|per_s| condition.reached(per_s));
            levels.push(Level { condition: index, reason });
        }
        levels
    }

    /// Takes what ended: slow system calls, and waits that nothing could interrupt.
    pub fn stalls(&self, stalls: &[StallRecord], name_of: impl Fn(u32) -> Option<String>) -> Vec<Met> {
        let mut met = Vec::new();
        for stall in stalls {
            let Some(lasted_ns) = lasted_ns(stall) else { continue };
            let Some(condition) = self.asks_for(lasted_ns) else { continue };
            let (who, lasted) = (task(stall.tid, &name_of), Nanoseconds(lasted_ns));
            let of = stall.path.as_ref().map_or(String::new(), |path| format!(" of {path}"));
            let reason = match (stall.kind, &stall.call) {
                (StallKind::SystemCall, call) => {
                    format!("{}{of} by {who} took {lasted}", call.as_deref().unwrap_or("a system call"))
                }
                (_, Some(call)) => format!("{who} was blocked for {lasted} in {call}"),
                (_, None) => format!("{who} was blocked for {lasted}"),
            };
            met.push(Met { condition, at_ns: stall.end_ns(), reason });
        }
        met
    }

    /// Takes the tasks that are blocked at `now_ns`, each with the moment since when. One that stays so is told once.
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
            let Some(condition) = self.asks_for(lasted_ns) else { continue };
            if before.get(&tid) != Some(&since_ns) {
                let reason = format!("{} has been blocked for {}", task(tid, &name_of), Nanoseconds(lasted_ns));
                met.push(Met { condition, at_ns: now_ns, reason });
            }
            self.blocked.insert(tid, since_ns);
        }
        met
    }

    /// Conditions on counters that were not seen yet.
    pub fn unmatched(&self) -> impl Iterator<Item = &Condition> {
        let waiting = self.conditions.iter().zip(&self.rates).filter(|(_, rate)| rate.is_empty());
        waiting.map(|(condition, _)| condition).filter(|condition| !matches!(condition, Condition::Stall { .. }))
    }

    fn stalls_asked_for(&self) -> impl Iterator<Item = (usize, u64)> {
        self.conditions.iter().enumerate().filter_map(|(index, condition)| match condition {
            Condition::Stall { at_least_ns } => Some((index, *at_least_ns)),
            _ => None,
        })
    }

    /// The condition that a stall of that length meets; of several, the one that asks for most.
    fn asks_for(&self, lasted_ns: u64) -> Option<usize> {
        let met = self.stalls_asked_for().filter(|(_, at_least_ns)| lasted_ns >= *at_least_ns);
        met.max_by_key(|(_, at_least_ns)| *at_least_ns).map(|(index, _)| index)
    }
}

impl Condition {
    /// Whether it is about that metric.
    pub fn looks_at(&self, metric: &MetricDescriptor) -> bool {
        match self {
            Condition::Stall { .. } => false,
            Condition::Pressure { resource, extent, .. } => {
                let kind = metric.name.strip_prefix("pressure.").and_then(|kind| kind.split_once('.'));
                metric.instance.is_empty() && kind == Some((resource, extent))
            }
            Condition::Rate { metric: name, instance, .. } => {
                metric.name == *name && instance.as_ref().is_none_or(|instance| metric.instance == *instance)
            }
        }
    }

    /// What to say of a rate that is above the condition's limit.
    fn reached(&self, per_s: f64) -> Option<String> {
        let window = Nanoseconds(WINDOW_NS);
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

/// How long a record says that a task was held up; `None` where it tells of something else.
fn lasted_ns(stall: &StallRecord) -> Option<u64> {
    match stall.kind {
        StallKind::SystemCall => Some(stall.duration_ns),
        StallKind::OffCpu => {
            let blocked = stall.state.is_some_and(|state| state & UNINTERRUPTIBLE != 0 && state & NO_LOAD == 0);
            // From then on it waited for a CPU.
            let end_ns = stall.woken_ns.unwrap_or(stall.end_ns());
            blocked.then(|| end_ns.saturating_sub(stall.start_ns))
        }
        _ => None,
    }
}

fn task(tid: u32, name_of: &impl Fn(u32) -> Option<String>) -> String {
    name_of(tid).map_or_else(|| format!("task {tid}"), |name| format!("{name}/{tid}"))
}
