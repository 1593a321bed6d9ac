//! A run's rows in slices of its time, in the order in which a recorder has them.

use std::collections::BTreeMap;

use archive::{Batches, Run};
use model::event::RunEvent;
use model::metric::{MetricChange, MetricDescriptor, SampleHeader};
use model::operation::{IntervalRecord, OperationRecord};
use model::stall::{StallKind, StallRecord, Traced};

/// Length of a slice.
pub const SLICE_NS: u64 = 1_000_000_000;

/// What a recorder has of one slice.
#[derive(Debug, Default)]
pub struct Slice {
    pub traced: Traced,
    pub operations: Vec<OperationRecord>,
    pub intervals: Vec<IntervalRecord>,
    pub samples: Vec<(SampleHeader, Vec<MetricChange>)>,
}

/// A run's rows.
#[derive(Debug, Default)]
pub struct Slices {
    /// By the end of the slice.
    pub slices: BTreeMap<u64, Slice>,
    pub descriptors: Vec<MetricDescriptor>,
    pub events: Vec<RunEvent>,
    /// What /proc showed at the end.
    pub lasting: Vec<StallRecord>,
}

/// The rows of the batches that are whole.
pub fn rows<Row>(batches: Batches<Row>) -> impl Iterator<Item = Row> {
    batches.filter_map(Result::ok).flatten()
}

impl Slices {
    pub fn of(run: &Run) -> Slices {
        let mut all = Slices { descriptors: rows(run.descriptors()).collect(), ..Slices::default() };
        // A recording that goes on has no end.
        let events = run.events().iter().filter(|event| !matches!(event, RunEvent::Ended { .. }));
        all.events = events.cloned().collect();
        let (lasting, stalls): (Vec<_>, Vec<_>) =
            rows(run.stalls()).partition(|row| row.kind == StallKind::LastingWait);
        all.lasting = lasting;
        stalls.into_iter().for_each(|row| all.at(row.end_ns()).traced.stalls.push(row));
        rows(run.requests()).for_each(|row| all.at(row.completed_ns).traced.requests.push(row));
        rows(run.request_intervals()).for_each(|row| all.at(row.end_ns).traced.request_intervals.push(row));
        rows(run.usage()).for_each(|row| all.at(row.end_ns).traced.usage.push(row));
        rows(run.user_stacks()).for_each(|row| all.at(row.end_ns).traced.user_stacks.push(row));
        rows(run.tasks()).for_each(|row| all.at(row.seen_ns).traced.tasks.push(row));
        rows(run.operations())
            .for_each(|row| all.at(row.start_ns.saturating_add(row.duration_ns)).operations.push(row));
        rows(run.intervals()).for_each(|row| all.at(row.end_ns).intervals.push(row));
        all.add_samples(run);
        // When these came is not stored: before the rows that name them.
        let named = all.at(0);
        named.traced.stacks.extend(rows(run.stacks()));
        named.traced.user_frames.extend(rows(run.user_frames()));
        all
    }

    fn at(&mut self, ns: u64) -> &mut Slice {
        self.slices.entry((ns / SLICE_NS).saturating_add(1).saturating_mul(SLICE_NS)).or_default()
    }

    fn add_samples(&mut self, run: &Run) {
        let mut changes: BTreeMap<u32, Vec<MetricChange>> = BTreeMap::new();
        rows(run.changes()).for_each(|change| changes.entry(change.sample).or_default().push(change));
        let headers: Vec<SampleHeader> = rows(run.samples()).collect();
        for header in headers {
            let of_sample = changes.remove(&header.sample).unwrap_or_default();
            self.at(header.at.monotonic_ns).samples.push((header, of_sample));
        }
    }
}
