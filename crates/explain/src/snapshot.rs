//! A run at one moment: work, losses and waits in a window that ends there, and stuck tasks.
//!
//! Only rows that overlap the window, or a short history before it, are needed: a moment of a long run is cheap to
//! read.

mod devices;
mod history;
mod memory;
mod stuck;
mod window;
mod work;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use model::damage::Damage;
use model::event::RunEvent;
use model::metric::MetricDescriptor;
use model::operation::{IntervalRecord, OperationKind, OperationRecord};
use model::run::RunDescription;
use model::stall::{RequestIntervalRecord, RequestRecord, StackRecord, StallKind, StallRecord, TaskRecord};
use model::usage::UsageRecord;
use model::user_stack::{UserFrameRecord, UserStackRecord};

pub use self::devices::DeviceLoad;
pub use self::memory::{Memory, PressureShare};
pub use self::stuck::Stuck;
pub use self::window::Window;
pub use self::work::Work;

use self::devices::Devices;
use self::history::History;
use self::stuck::StuckBuilder;
use self::work::WorkBuilder;
use crate::blame::{Accounting, Blame, Explanation, STEAL, Scope, Stall, is_of_limits};
use crate::series::SeriesSet;
use crate::waits::Waits;

/// Rows that ended this long before the window still say what the waits in it were for: who woke whom, and with what
/// request, before.
const CONTEXT_NS: u64 = 5_000_000_000;

impl Window {
    /// Start of the rows of stalls and operations that matter.
    pub fn reach_from_ns(self) -> u64 {
        self.from_ns.saturating_sub(CONTEXT_NS).min(self.to_ns.saturating_sub(stuck::REACH_NS))
    }

    /// Start of the rows of intervals that the history needs.
    pub fn history_from_ns(self) -> u64 {
        History::of(self).from_ns
    }
}

/// A run at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The window.
    pub window: Window,
    /// The load's phase.
    pub phase: Option<String>,
    /// Work: by class of operation with a load, otherwise by device.
    pub work: Vec<Work>,
    /// The window's part of all slow operations, explained.
    pub explanation: Explanation,
    /// What their time consists of.
    pub waits: Waits,
    /// For each of the explanation's stalls, in its order, the whole operation: start on the monotonic clock and
    /// duration.
    pub whole: Vec<(u64, u64)>,
    /// Tasks stuck at the window's end, the longest first.
    pub stuck: Vec<Stuck>,
    /// Active disks, those under test first, then the busiest.
    pub devices: Vec<DeviceLoad>,
    /// Memory and pressure.
    pub memory: Memory,
}

/// Whether the metric is needed for a snapshot.
pub fn wanted_metric(metric: &MetricDescriptor) -> bool {
    devices::wants(metric) || memory::wants(metric) || metric.name == STEAL || is_of_limits(&metric.name)
}

/// Collects the rows: stalls, operations, usage and requests first, then tasks and stacks, of which only those that the
/// others name are kept.
#[derive(Debug)]
pub struct SnapshotBuilder {
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
    scope: Scope,
}

impl SnapshotBuilder {
    /// A snapshot of a run in a window.
    pub fn new(run: &RunDescription, window: Window) -> SnapshotBuilder {
        SnapshotBuilder {
            blame: Blame::new(None, run).within(window.from_ns, window.to_ns),
            work: WorkBuilder::new(run, window),
            stuck: StuckBuilder::new(run, window.to_ns),
            devices: Devices::default(),
            phase: None,
            tids: HashSet::new(),
            stacks: HashSet::new(),
            whole: Vec::new(),
            scope: Scope::default(),
            run: run.clone(),
            window,
        }
    }

    /// Stalls and stuck tasks in scope only.
    #[must_use]
    pub fn scoped(self, scope: Scope) -> SnapshotBuilder {
        SnapshotBuilder { blame: self.blame.scoped(scope.clone()), scope, ..self }
    }

    /// Describes the `count` longest stalls individually, as far as memory is bounded.
    #[must_use]
    pub fn listing(self, count: usize) -> SnapshotBuilder {
        SnapshotBuilder { blame: self.blame.listing(count), ..self }
    }

    /// Adds events of the journal, in order.
    pub fn events(&mut self, events: &[RunEvent]) {
        for event in events {
            match event {
                RunEvent::PhaseStarted { phase, at_ns, .. } if *at_ns <= self.window.to_ns => {
                    self.phase = Some(phase.clone());
                }
                RunEvent::PhaseEnded { phase, at_ns, .. } if *at_ns <= self.window.to_ns => {
                    self.phase.take_if(|open| open == phase);
                }
                // An operation stuck in a warm-up is stuck: all phases count.
                RunEvent::PhaseStarted { .. } | RunEvent::PhaseEnded { .. } => {}
                other => self.blame.events(std::slice::from_ref(other)),
            }
        }
    }

    /// Adds what of the run's archive is damaged.
    pub fn damage(&mut self, damage: &[Damage]) {
        self.blame.damage(damage);
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
            let is_context = self.overlaps(record.start_ns, record.end_ns().saturating_add(CONTEXT_NS));
            if is_candidate || is_context {
                self.tids.insert(record.tid);
                let others = [record.waker_tid, record.holder_tid, record.behind_tid];
                self.tids.extend(others.into_iter().flatten());
                self.stacks.extend(record.stack.into_iter().chain(record.waker_stack));
            }
            let is_whole = matches!(
                record.kind,
                StallKind::SystemCall
                    | StallKind::Asynchronous
                    | StallKind::Blocked
                    | StallKind::StillBlocked
                    | StallKind::LastingWait
            );
            if is_inside && is_whole {
                self.whole.push((record.tid, record.start_ns, record.end_ns()));
            }
            if is_context {
                self.blame.stalls(std::slice::from_ref(record));
            }
        }
    }

    /// Adds what threads waited for when /proc was looked at last, after all other rows of the table `stalls`: what
    /// lasts of it.
    pub fn lasting_waits(&mut self, records: &[StallRecord]) {
        let until_ns = self.window.to_ns.saturating_add(stuck::LATE_NS);
        for record in records.iter().filter(|record| record.start_ns < until_ns) {
            if self.stuck.lasting_wait(record) {
                self.stalls(std::slice::from_ref(record));
            }
        }
    }

    /// Adds rows of the table `usage` that end within the reach ([`Window::reach_from_ns`]): who used what the window's
    /// operations lacked.
    pub fn usage(&mut self, records: &[UsageRecord]) {
        let reach_ns = self.window.reach_from_ns();
        for record in records.iter().filter(|used| used.end_ns > reach_ns && used.start_ns < self.window.to_ns) {
            self.tids.extend([record.pid, record.thread, record.waiting].into_iter().flatten());
            self.blame.usage(std::slice::from_ref(record));
        }
    }

    /// Adds rows of the table `requests`, after all stalls.
    pub fn requests(&mut self, records: &[RequestRecord]) {
        self.tids.extend(records.iter().map(|record| record.tid));
        self.blame.requests(records);
    }

    /// Adds rows of the table `user_stacks`.
    pub fn user_stacks(&mut self, records: &[UserStackRecord]) {
        self.blame.user_stacks(records);
    }

    /// Adds rows of the table `user_frames`.
    pub fn user_frames(&mut self, records: &[UserFrameRecord]) {
        self.blame.user_frames(records);
    }

    /// Selects from all threads of the run, after stalls, operations, usage and requests.
    pub fn tasks<'a>(&mut self, all: impl Iterator<Item = &'a TaskRecord> + Clone) {
        // A culprit is reported by its process.
        let named: Vec<u32> = all.clone().filter(|task| self.tids.contains(&task.tid)).map(|task| task.pid).collect();
        self.tids.extend(named);
        for task in all.filter(|task| self.tids.contains(&task.tid)) {
            self.blame.tasks(std::slice::from_ref(task));
            self.stuck.task(task);
        }
    }

    /// Selects from all stacks of the run, after stalls.
    pub fn stacks<'a>(&mut self, all: impl Iterator<Item = &'a StackRecord>) {
        for stack in all.filter(|stack| self.stacks.contains(&stack.stack)) {
            self.blame.stacks(std::slice::from_ref(stack));
            self.stuck.stack(stack);
        }
    }

    fn overlaps(&self, start_ns: u64, end_ns: u64) -> bool {
        start_ns < self.window.to_ns && end_ns > self.window.from_ns
    }

    /// The snapshot. The series hold [`wanted_metric`]s at the samples from the last before the window to the last in
    /// it.
    pub fn finish(self, series: &SeriesSet) -> Snapshot {
        self.finish_with_accounting(series).0
    }

    /// The same, and the accounting of every operation within the window.
    pub fn finish_with_accounting(self, series: &SeriesSet) -> (Snapshot, Accounting) {
        let SnapshotBuilder { run, window, mut blame, phase, work, stuck, devices, whole, scope, .. } = self;
        blame.steal(series);
        blame.limits(series, run.host.page_size_bytes);
        let (mut explanation, accounting) = blame.finish_with_accounting();
        if run.recipe.is_some() {
            explanation.operations = Some(work.finished(&run));
        }
        let waits = accounting.all_waits(&explanation);
        let whole: Vec<(u64, u64)> = explanation.stalls.iter().map(|stall| whole_of(stall, &whole, window)).collect();
        let samples = samples(series, window);
        let mut stuck = stuck.finish(&explanation.stalls, &whole);
        stuck.retain(|one| scope.has_named(&one.task, one.cgroups()) && scope.has_path(one.path.as_deref()));
        let snapshot = Snapshot {
            window,
            phase,
            work: work.finish(&devices::under_test(&run, &scope)),
            explanation,
            waits,
            whole,
            stuck,
            devices: devices.finish(&run, &scope, series, samples),
            memory: memory::of(series, samples),
        };
        (snapshot, accounting)
    }
}

/// The longest operation of the thread that the window clips to this stall.
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

/// The last sample before the window, or the first sample, and the last in the window.
fn samples(series: &SeriesSet, window: Window) -> Option<(u32, u32)> {
    let last = series.sample_at(window.to_ns)?;
    let first = series.sample_at(window.from_ns).or_else(|| series.headers().first().map(|header| header.sample))?;
    Some((first, last))
}
