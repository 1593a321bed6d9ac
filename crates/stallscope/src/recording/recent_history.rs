//! The last minutes of what a recorder sees, in bounded memory.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use explain::blame::Scope;
use explain::series::SeriesSet;
use explain::snapshot::{Snapshot, SnapshotBuilder, Window, wanted_metric};
use model::metric::{MetricChange, MetricDescriptor, MetricId, SampleHeader};
use model::operation::OperationRecord;
use model::run::RunDescription;
use model::stall::{
    Awaits, RequestIntervalRecord, RequestRecord, StackRecord, StallKind, StallRecord, TaskRecord, Traced,
};
use model::usage::UsageRecord;
use record::BlockedNow;

use crate::recording::tap::Tap;

/// Time covered by the history.
pub const HISTORY_NS: u64 = 600_000_000_000;
/// Maximum rows of each kind for a reader of the whole history; with more, it covers less time.
const MOST_ROWS: usize = 100_000;
/// Threads and stacks are kept for this many rotations: rows refer to those of the same rotation or, around a rotation, the
/// one before.
const ROTATIONS: u64 = 2;

/// The last minutes of what a recorder sees.
pub struct RecentHistory {
    seen: Mutex<Seen>,
    most_rows: usize,
    /// Waits and calls of this length are slow operations.
    slow_ns: u64,
}

impl Default for RecentHistory {
    fn default() -> RecentHistory {
        RecentHistory::bounded(MOST_ROWS, 0)
    }
}

#[derive(Default)]
struct Seen {
    wanted: HashMap<MetricId, MetricDescriptor>,
    samples: VecDeque<(SampleHeader, Vec<MetricChange>)>,
    /// Values before the first kept sample.
    before: HashMap<MetricId, Option<i64>>,
    /// Ordinals restart with a rotation, so samples are numbered here.
    ordinal: u32,
    operations: VecDeque<OperationRecord>,
    stalls: VecDeque<StallRecord>,
    /// What threads wait for that had not been woken at the last look.
    lasting: Vec<StallRecord>,
    requests: VecDeque<RequestRecord>,
    request_intervals: VecDeque<RequestIntervalRecord>,
    usage: VecDeque<UsageRecord>,
    rotation: u64,
    tasks: Vec<(u64, TaskRecord)>,
    stacks: Vec<(u64, StackRecord)>,
    /// End of the last operation of the trace that was slow.
    slow_until_ns: u64,
    /// Since when everything is kept.
    whole_from_ns: u64,
    last_ns: u64,
}

impl RecentHistory {
    /// With at most so many rows of each kind, of a recording of operations slower than this.
    pub fn bounded(most_rows: usize, slow_ns: u64) -> RecentHistory {
        RecentHistory { seen: Mutex::default(), most_rows, slow_ns }
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Start of the history.
    pub fn first_ns(&self) -> Option<u64> {
        let seen = self.lock();
        seen.samples.front().map(|(header, _)| header.at.monotonic_ns.max(seen.whole_from_ns))
    }

    /// Time of the last sample.
    pub fn last_ns(&self) -> Option<u64> {
        Some(self.lock().last_ns).filter(|&ns| ns > 0)
    }

    /// Called after a rotation: forgets threads and stacks that no row refers to.
    pub fn forget_old(&self) {
        let mut seen = self.lock();
        seen.rotation += 1;
        let oldest = seen.rotation.saturating_sub(ROTATIONS);
        seen.tasks.retain(|(rotation, _)| *rotation >= oldest);
        seen.stacks.retain(|(rotation, _)| *rotation >= oldest);
    }

    /// Adds operations of a load.
    pub fn operations(&self, records: &[OperationRecord]) {
        let mut seen = self.lock();
        seen.operations.extend(records.iter().cloned());
        seen.trim(self.most_rows);
    }

    /// Whether an operation was slow that ended after a moment. It costs next to nothing, which a snapshot does not.
    pub fn has_slow_since(&self, at_ns: u64) -> bool {
        let seen = self.lock();
        let is_recent = |record: &OperationRecord| record.start_ns.saturating_add(record.duration_ns) >= at_ns;
        let lasts = |row: &StallRecord| row.end_ns() >= at_ns && is_asked_for_long(row, self.slow_ns);
        seen.slow_until_ns >= at_ns || seen.operations.back().is_some_and(is_recent) || seen.lasting.iter().any(lasts)
    }

    /// A snapshot. Blocks the recorder only while the window's rows are read.
    pub fn snapshot(&self, run: &RunDescription, scope: &Scope, window: Window) -> Snapshot {
        let mut builder = SnapshotBuilder::new(run, window).scoped(scope.clone());
        let seen = self.lock();
        let Window { to_ns, .. } = window;
        let (history_ns, reach_ns) = (window.history_from_ns(), window.reach_from_ns());
        for row in seen.request_intervals.iter().filter(|row| row.end_ns > history_ns && row.start_ns < to_ns) {
            builder.request_intervals(std::slice::from_ref(row));
        }
        seen.operations.iter().for_each(|row| builder.operations(std::slice::from_ref(row)));
        for row in seen.stalls.iter().filter(|row| row.end_ns() >= reach_ns && row.start_ns < to_ns) {
            builder.stalls(std::slice::from_ref(row));
        }
        builder.lasting_waits(&seen.lasting);
        for row in seen.requests.iter().filter(|row| row.completed_ns >= window.from_ns) {
            builder.requests(std::slice::from_ref(row));
        }
        for row in seen.usage.iter().filter(|row| row.end_ns > reach_ns && row.start_ns < to_ns) {
            builder.usage(std::slice::from_ref(row));
        }
        builder.tasks(seen.tasks.iter().map(|(_, task)| task));
        builder.stacks(seen.stacks.iter().map(|(_, stack)| stack));
        let series = seen.series(window);
        drop(seen);
        builder.finish(&series)
    }
}

impl Seen {
    fn series(&self, window: Window) -> SeriesSet {
        let mut series = SeriesSet::default();
        series.describe(&self.wanted.values().cloned().collect::<Vec<_>>(), |_| true);
        let first = self.samples.front().map_or(0, |(header, _)| header.sample);
        let before = self.before.iter().map(|(&metric, &value)| MetricChange { sample: first, metric, value });
        series.feed(&before.collect::<Vec<_>>());
        for (header, changes) in &self.samples {
            if header.at.monotonic_ns <= window.to_ns {
                series.sample(*header);
                series.feed(changes);
            }
        }
        series
    }

    /// Drops rows that are too old or too many.
    fn trim(&mut self, most_rows: usize) {
        let oldest_ns = self.last_ns.saturating_sub(HISTORY_NS);
        while self.samples.front().is_some_and(|(header, _)| header.at.monotonic_ns < oldest_ns) {
            let Some((_, changes)) = self.samples.pop_front() else { break };
            self.before.extend(changes.iter().map(|change| (change.metric, change.value)));
        }
        let mut whole_from_ns = self.whole_from_ns;
        let mut trim = |len: usize, end_ns: u64| {
            if len > most_rows {
                whole_from_ns = end_ns.max(whole_from_ns);
            }
            len > most_rows || end_ns < oldest_ns
        };
        while self.stalls.front().is_some_and(|row| trim(self.stalls.len(), row.end_ns())) {
            self.stalls.pop_front();
        }
        let end_ns = |row: &OperationRecord| row.start_ns.saturating_add(row.duration_ns);
        while self.operations.front().is_some_and(|row| trim(self.operations.len(), end_ns(row))) {
            self.operations.pop_front();
        }
        while self.requests.front().is_some_and(|row| trim(self.requests.len(), row.completed_ns)) {
            self.requests.pop_front();
        }
        while self.request_intervals.front().is_some_and(|row| trim(self.request_intervals.len(), row.end_ns)) {
            self.request_intervals.pop_front();
        }
        while self.usage.front().is_some_and(|row| trim(self.usage.len(), row.end_ns)) {
            self.usage.pop_front();
        }
        self.whole_from_ns = whole_from_ns;
    }
}

/// Whether a row is a slow operation, or the wait of one that lasts: other rows are parts of one.
fn is_slow(row: &StallRecord, slow_ns: u64) -> bool {
    let is_whole = matches!(
        row.kind,
        StallKind::SystemCall | StallKind::Asynchronous | StallKind::Blocked | StallKind::StillBlocked
    );
    is_whole && row.end_ns().saturating_sub(row.start_ns) >= slow_ns
}

/// Whether a thread has waited so long for an answer, a lock or room, not for something to do.
fn is_asked_for_long(row: &StallRecord, slow_ns: u64) -> bool {
    let is_asked = row.awaits.is_some_and(|awaits| awaits != Awaits::Message);
    is_asked && row.end_ns().saturating_sub(row.start_ns) >= slow_ns
}

impl Tap for RecentHistory {
    fn sample(&self, header: &SampleHeader, descriptors: &[MetricDescriptor], changes: &[MetricChange]) {
        let mut seen = self.lock();
        let wanted = descriptors.iter().filter(|metric| wanted_metric(metric));
        let wanted: Vec<_> = wanted.map(|metric| (metric.id, metric.clone())).collect();
        seen.wanted.extend(wanted);
        let sample = seen.ordinal;
        seen.ordinal += 1;
        let kept = changes.iter().filter(|change| seen.wanted.contains_key(&change.metric));
        let kept: Vec<MetricChange> = kept.map(|change| MetricChange { sample, ..*change }).collect();
        seen.samples.push_back((SampleHeader { sample, ..*header }, kept));
        seen.last_ns = header.at.monotonic_ns;
        seen.trim(self.most_rows);
    }

    fn traced(&self, traced: &Traced) {
        let mut seen = self.lock();
        let rotation = seen.rotation;
        let slow = traced.stalls.iter().filter(|row| is_slow(row, self.slow_ns)).map(StallRecord::end_ns).max();
        seen.slow_until_ns = seen.slow_until_ns.max(slow.unwrap_or(0));
        seen.stalls.extend(traced.stalls.iter().cloned());
        seen.requests.extend(traced.requests.iter().cloned());
        seen.request_intervals.extend(traced.request_intervals.iter().cloned());
        seen.usage.extend(traced.usage.iter().cloned());
        seen.tasks.extend(traced.tasks.iter().map(|task| (rotation, task.clone())));
        seen.stacks.extend(traced.stacks.iter().map(|stack| (rotation, stack.clone())));
        seen.trim(self.most_rows);
    }

    fn wants_lasting_waits(&self) -> bool {
        true
    }

    fn lasting_waits(&self, rows: Vec<StallRecord>) {
        self.lock().lasting = rows;
    }

    /// Blocked tasks also come as rows.
    fn blocked(&self, _now_ns: u64, _tasks: &[BlockedNow]) {}

    /// Metrics keep their ids: the samplers are never reopened.
    fn renumbered(&self) {}
}

#[cfg(test)]
mod tests {
    use model::stall::{StallKind, StallRecord, Traced};

    use super::RecentHistory;
    use crate::recording::tap::Tap;

    /// A snapshot of many rows each tenth of a second may take 5 % of a CPU while nothing is slow.
    #[test]
    fn only_slow_operations_are_worth_a_snapshot() {
        let history = RecentHistory::bounded(10, 1000);
        let see = |kind, start_ns, end_ns| {
            let row = StallRecord::new(kind, 7, start_ns, end_ns);
            history.traced(&Traced { stalls: vec![row], ..Traced::default() });
        };
        see(StallKind::SystemCall, 100, 900);
        see(StallKind::OffCpu, 100, 9000);
        assert!(!history.has_slow_since(1));
        see(StallKind::StillBlocked, 5000, 6000);
        assert!(history.has_slow_since(6000) && !history.has_slow_since(6001));
        see(StallKind::SystemCall, 5000, 5500);
        assert!(history.has_slow_since(6000), "a later row may have ended earlier");
    }
}
