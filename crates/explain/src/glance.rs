//! A run at one moment: what was done, lost and waited for in a window of time that ends there, and who is stuck.
//!
//! Everything comes from rows that overlap the window, or, for the short history, some time before it: who shows a moment
//! of a long run reads no more than that.

mod devices;
mod history;
mod memory;
mod stuck;
mod work;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use model::event::RunEvent;
use model::metric::MetricDescriptor;
use model::operation::{IntervalRecord, OperationKind, OperationRecord};
use model::run::RunDescription;
use model::stall::{RequestIntervalRecord, RequestRecord, StackRecord, StallKind, StallRecord, TaskRecord};

pub use self::devices::DeviceLoad;
pub use self::memory::{Memory, Pressure};
pub use self::stuck::Stuck;
pub use self::work::Work;

use self::devices::Devices;
use self::history::History;
use self::stuck::StuckBuilder;
use self::work::WorkBuilder;
use crate::blame::{Blame, Explanation, Stall};
use crate::series::SeriesSet;

/// A time on the monotonic clock: what ended in it counts, and what overlaps it counts for the part that does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Begin, not included.
    pub from_ns: u64,
    /// End: the moment itself.
    pub to_ns: u64,
}

impl Window {
    /// Length.
    pub fn ns(self) -> u64 {
        self.to_ns.saturating_sub(self.from_ns)
    }

    /// From when on rows of stalls and operations matter.
    pub fn reach_from_ns(self) -> u64 {
        self.from_ns.min(self.to_ns.saturating_sub(stuck::REACH_NS))
    }

    /// From when on rows of intervals are needed for the history.
    pub fn history_from_ns(self) -> u64 {
        History::of(self).from_ns
    }
}

/// A run at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Glance {
    /// Of which time.
    pub window: Window,
    /// The load's phase.
    pub phase: Option<String>,
    /// What was done: by class of operation where a load told, else by device.
    pub work: Vec<Work>,
    /// Where the window's part of all slow operations went, who is to blame, and the worst of them.
    pub explanation: Explanation,
    /// Of each of the explanation's stalls, in its order, the whole: start on the monotonic clock and duration.
    pub whole: Vec<(u64, u64)>,
    /// Who is stuck at the window's end, the longest first.
    pub stuck: Vec<Stuck>,
    /// Disks that do something, the busiest first.
    pub devices: Vec<DeviceLoad>,
    /// Memory and pressure.
    pub memory: Memory,
}

/// Whether the metric is needed for a glance.
pub fn wanted_metric(metric: &MetricDescriptor) -> bool {
    devices::wants(metric) || memory::wants(metric)
}

/// Collects the rows. Those of stalls, operations and requests come first, then tasks and stacks: of these only what the
/// others name is kept.
#[derive(Debug)]
pub struct Glancer {
    run: RunDescription,
    window: Window,
    blame: Blame,
    phase: Option<String>,
    work: WorkBuilder,
    stuck: StuckBuilder,
    devices: Devices,
    /// Tasks and stacks that rows name.
    tids: HashSet<u32>,
    stacks: HashSet<u32>,
    /// Whole operations, before the window cuts them: thread, start, end.
    whole: Vec<(u32, u64, u64)>,
}

impl Glancer {
    /// A glance at a run, as it was in a time.
    pub fn new(run: &RunDescription, window: Window) -> Glancer {
        Glancer {
            blame: Blame::new(None, run).within(window.from_ns, window.to_ns),
            work: WorkBuilder::new(run, window),
            stuck: StuckBuilder::new(run, window.to_ns),
            devices: Devices::default(),
            phase: None,
            tids: HashSet::new(),
            stacks: HashSet::new(),
            whole: Vec::new(),
            run: run.clone(),
            window,
        }
    }

    /// Adds events of the journal, in their order.
    pub fn events(&mut self, events: &[RunEvent]) {
        for event in events {
            match event {
                RunEvent::PhaseStarted { phase, at_ns, .. } if *at_ns <= self.window.to_ns => {
                    self.phase = Some(phase.clone());
                }
                RunEvent::PhaseEnded { phase, at_ns, .. } if *at_ns <= self.window.to_ns => {
                    self.phase.take_if(|open| open == phase);
                }
                // What is stuck in a warm-up is stuck: no phase is left out.
                RunEvent::PhaseStarted { .. } | RunEvent::PhaseEnded { .. } => {}
                other => self.blame.events(std::slice::from_ref(other)),
            }
        }
    }

    /// Adds rows of the table `intervals` that end within the history.
    pub fn intervals(&mut self, records: &[IntervalRecord]) {
        records.iter().for_each(|record| self.work.interval(record));
    }

    /// Adds rows of the table `request_intervals` that end within the history.
    pub fn request_intervals(&mut self, records: &[RequestIntervalRecord]) {
        for record in records {
            self.work.requests(record);
            if record.end_ns > self.window.from_ns && record.end_ns <= self.window.to_ns {
                self.devices.requests(record);
            }
        }
    }

    /// Adds rows of the table `operations`.
    pub fn operations(&mut self, records: &[OperationRecord]) {
        for record in records {
            let end_ns = record.start_ns.saturating_add(record.duration_ns);
            self.stuck.operation(record);
            if self.overlaps(record.start_ns, end_ns) {
                self.tids.insert(record.tid);
                self.whole.push((record.tid, record.start_ns, end_ns));
                self.blame.operations(std::slice::from_ref(record));
            } else if record.kind == OperationKind::Stuck {
                self.tids.insert(record.tid);
            }
        }
    }

    /// Adds rows of the table `stalls`.
    pub fn stalls(&mut self, records: &[StallRecord]) {
        for record in records {
            let is_candidate = self.stuck.stall(record);
            let is_inside = self.overlaps(record.start_ns, record.end_ns());
            if is_candidate || is_inside {
                self.tids.insert(record.tid);
                self.tids.extend(record.waker_tid);
                self.stacks.extend(record.stack.into_iter().chain(record.waker_stack));
            }
            if is_inside {
                if matches!(record.kind, StallKind::SystemCall | StallKind::Blocked | StallKind::StillBlocked) {
                    self.whole.push((record.tid, record.start_ns, record.end_ns()));
                }
                self.blame.stalls(std::slice::from_ref(record));
            }
        }
    }

    /// Adds rows of the table `requests`, after all stalls.
    pub fn requests(&mut self, records: &[RequestRecord]) {
        self.tids.extend(records.iter().map(|record| record.tid));
        self.blame.requests(records);
    }

    /// Chooses among all threads of the run, after stalls, operations and requests.
    pub fn tasks<'a>(&mut self, all: impl Iterator<Item = &'a TaskRecord> + Clone) {
        // A culprit is told by its process.
        let named: Vec<u32> = all.clone().filter(|task| self.tids.contains(&task.tid)).map(|task| task.pid).collect();
        self.tids.extend(named);
        for task in all.filter(|task| self.tids.contains(&task.tid)) {
            self.blame.tasks(std::slice::from_ref(task));
            self.stuck.task(task);
        }
    }

    /// Chooses among all stacks of the run, after stalls.
    pub fn stacks<'a>(&mut self, all: impl Iterator<Item = &'a StackRecord>) {
        for stack in all.filter(|stack| self.stacks.contains(&stack.stack)) {
            self.blame.stacks(std::slice::from_ref(stack));
            self.stuck.stack(stack);
        }
    }

    fn overlaps(&self, start_ns: u64, end_ns: u64) -> bool {
        start_ns < self.window.to_ns && end_ns > self.window.from_ns
    }

    /// What is seen. The series hold [`wanted_metric`]s at the samples from the last one before the window to the last in it.
    pub fn finish(self, series: &SeriesSet) -> Glance {
        let Glancer { run, window, blame, phase, work, stuck, devices, whole, .. } = self;
        let explanation = blame.finish();
        let whole = explanation.stalls.iter().map(|stall| whole_of(stall, &whole, window)).collect();
        let samples = samples(series, window);
        Glance {
            window,
            phase,
            work: work.finish(),
            explanation,
            whole,
            stuck: stuck.finish(),
            devices: devices.finish(&run, series, samples),
            memory: memory::of(series, samples),
        }
    }
}

/// The widest operation of the thread that the window cut to this one.
fn whole_of(stall: &Stall, whole: &[(u32, u64, u64)], window: Window) -> (u64, u64) {
    let end_ns = stall.start_ns + stall.duration_ns;
    let same =
        |at_ns: u64, uncut_ns: u64, edge_ns: u64, beyond: bool| at_ns == uncut_ns || (at_ns == edge_ns && beyond);
    let is_it = |&&(tid, from_ns, to_ns): &&(u32, u64, u64)| {
        tid == stall.task.tid
            && same(stall.start_ns, from_ns, window.from_ns, from_ns < window.from_ns)
            && same(end_ns, to_ns, window.to_ns, to_ns > window.to_ns)
    };
    let found = whole.iter().filter(is_it).max_by_key(|(_, from_ns, to_ns)| to_ns - from_ns);
    found.map_or((stall.start_ns, stall.duration_ns), |(_, from_ns, to_ns)| (*from_ns, to_ns - from_ns))
}

/// The last sample before the window, or the first there is, and the last in it.
fn samples(series: &SeriesSet, window: Window) -> Option<(u32, u32)> {
    let last = series.sample_at(window.to_ns)?;
    let first = series.sample_at(window.from_ns).or_else(|| series.headers().first().map(|header| header.sample))?;
    Some((first, last))
}
