//! The rows of a node's run that its figures are made of, as they are sent to rank 0: its run directory need not be
//! visible there.

use std::path::Path;

use archive::Run;
use explain::series::SeriesSet;
use explain::summary::{RecordingFacts, Summary, SummaryBuilder};
use model::event::RunEvent;
use model::operation::{Bucket, IntervalRecord, OperationKind, OperationRecord};
use model::run::RunDescription;
use serde::{Deserialize, Serialize};

/// Longest message. MPI's buffer has room for several.
const MOST_BYTES: usize = 2 << 20;
/// Failed operations sent.
const FAILED: usize = 1000;

/// Those rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct NodeRows {
    run: RunDescription,
    events: Vec<RunEvent>,
    intervals: Vec<IntervalRecord>,
    operations: Vec<OperationRecord>,
}

impl NodeRows {
    /// Of a run that has just been closed, with its worst operations as the summary has them.
    pub(super) fn of(directory: &Path, summary: &Summary) -> Option<NodeRows> {
        let run = Run::open(directory).ok()?;
        let mut description = run.description().clone();
        // They are many, and of no use for figures.
        description.mounts.clear();
        description.devices.clear();
        let intervals = run.intervals().filter_map(Result::ok).flatten().collect();
        let failed = run.operations().filter_map(Result::ok).flatten();
        let failed = failed.filter(|operation| operation.kind == OperationKind::Failed).take(FAILED);
        let operations = failed.chain(summary.worst.iter().cloned()).collect();
        let events = run.events().to_vec();
        Some(NodeRows { run: description, events, intervals, operations }.fitted())
    }

    /// With intervals long enough for one message.
    fn fitted(mut self) -> NodeRows {
        while serde_json::to_vec(&self).is_ok_and(|text| text.len() > MOST_BYTES) {
            let before = self.intervals.len();
            self.intervals = pairs_joined(&self.intervals);
            if self.intervals.len() == before {
                break;
            }
        }
        self
    }

    /// The summary that the node has made of the same rows, without what is its machine's.
    pub(super) fn summary(&self) -> Summary {
        let mut builder = SummaryBuilder::new(self.run.clone());
        self.events.iter().for_each(|event| builder.event(event));
        self.intervals.iter().for_each(|interval| builder.interval(interval));
        self.operations.iter().for_each(|operation| builder.operation(operation));
        builder.summarise(&SeriesSet::default(), RecordingFacts::default())
    }
}

/// Two successive intervals of a phase and class become one.
fn pairs_joined(intervals: &[IntervalRecord]) -> Vec<IntervalRecord> {
    let mut joined: Vec<(IntervalRecord, bool)> = Vec::new();
    for interval in intervals {
        let same = |(open, is_single): &&mut (IntervalRecord, bool)| {
            *is_single
                && open.phase == interval.phase
                && open.class == interval.class
                && open.end_ns == interval.start_ns
        };
        match joined.iter_mut().rev().find(same) {
            Some((open, is_single)) => {
                join(open, interval);
                *is_single = false;
            }
            None => joined.push((interval.clone(), true)),
        }
    }
    joined.into_iter().map(|(interval, _)| interval).collect()
}

fn join(open: &mut IntervalRecord, next: &IntervalRecord) {
    open.end_ns = next.end_ns;
    open.count += next.count;
    open.errors += next.errors;
    open.bytes += next.bytes;
    open.sum_ns = open.sum_ns.saturating_add(next.sum_ns);
    open.max_ns = open.max_ns.max(next.max_ns);
    (open.stuck, open.oldest_running_ns) = (next.stuck, next.oldest_running_ns);
    for bucket in &next.buckets {
        match open.buckets.binary_search_by_key(&bucket.index, |known| known.index) {
            Ok(at) => open.buckets[at].count += bucket.count,
            Err(at) => open.buckets.insert(at, Bucket { index: bucket.index, count: bucket.count }),
        }
    }
}

#[cfg(test)]
mod tests {
    use model::operation::{Bucket, IntervalRecord};

    use super::pairs_joined;

    #[test]
    fn joined_intervals_hold_the_same_operations() {
        let interval = |class: &str, at: u64, index| IntervalRecord {
            phase: "write".into(),
            class: class.into(),
            start_ns: at,
            end_ns: at + 1,
            count: 2,
            max_ns: Some(at),
            buckets: vec![Bucket { index, count: 2 }],
            ..IntervalRecord::default()
        };
        let rows: Vec<_> =
            (0..3).flat_map(|at| [interval("open", at, 7), interval("write", at, 9 - at as u32)]).collect();
        let joined = pairs_joined(&rows);
        let of = |class: &str| joined.iter().filter(|row| row.class == class).cloned().collect::<Vec<_>>();
        for class in ["open", "write"] {
            let spans: Vec<_> = of(class).iter().map(|row| (row.start_ns, row.end_ns, row.count)).collect();
            assert_eq!(spans, [(0, 2, 4), (2, 3, 2)], "{class}");
        }
        assert_eq!(of("open")[0].buckets, [Bucket { index: 7, count: 4 }]);
        assert_eq!(of("write")[0].buckets, [Bucket { index: 8, count: 2 }, Bucket { index: 9, count: 2 }]);
        assert_eq!(pairs_joined(&pairs_joined(&joined)).len(), 2);
    }
}
