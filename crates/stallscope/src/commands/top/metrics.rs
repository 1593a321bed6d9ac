//! Values of a few metrics in a window of a long run.
//!
//! The archive stores a metric when it changes, which may be long before the window. So the wanted values after each
//! batch are kept, and a window is rebuilt from the values before it and its own batches.

use std::collections::HashMap;

use archive::{BatchLocation, Run};
use explain::series::SeriesSet;
use explain::snapshot::{Window, wanted_metric};
use model::metric::{MetricChange, MetricDescriptor, MetricId};

/// Samples before the window that are searched for the last one.
const BEFORE: u64 = 4;
const BEFORE_AT_LEAST_NS: u64 = 10_000_000_000;

/// The wanted metrics of a run.
#[derive(Default)]
pub struct Metrics {
    descriptors: HashMap<MetricId, MetricDescriptor>,
    described: usize,
    places: Vec<BatchLocation>,
    batches: Vec<Values>,
}

/// A batch of changes.
struct Values {
    /// Its first and last sample; `None` where it is empty or damaged.
    samples: Option<(u32, u32)>,
    /// Values after it.
    after: Vec<(MetricId, Option<i64>)>,
}

impl Metrics {
    /// The series in a window. Reads what has not been read yet, one batch at a time.
    pub fn series(&mut self, run: &Run, window: Window) -> SeriesSet {
        self.describe(run);
        self.read(run);
        let mut series = SeriesSet::default();
        let all: Vec<MetricDescriptor> = self.descriptors.values().cloned().collect();
        series.describe(&all, |_| true);
        let before_ns = run.description().sample_interval_ns.saturating_mul(BEFORE).max(BEFORE_AT_LEAST_NS);
        let from_ns = window.from_ns.saturating_sub(before_ns);
        let samples = run.samples().within(from_ns, window.to_ns).filter_map(Result::ok).flatten();
        let mut headers: Vec<_> =
            samples.filter(|row| (from_ns..=window.to_ns).contains(&row.at.monotonic_ns)).collect();
        headers.sort_by_key(|header| header.sample);
        let (Some(first), Some(last)) = (headers.first(), headers.last()) else { return series };
        let (first, last) = (first.sample, last.sample);
        headers.into_iter().for_each(|header| series.sample(header));
        let overlaps = |batch: &Values| batch.samples.is_some_and(|(from, to)| from <= last && to >= first);
        let Some(begin) = self.batches.iter().position(overlaps) else { return series };
        let end = self.batches.iter().rposition(overlaps).unwrap_or(begin);
        let at = self.batches[begin].samples.map_or(0, |(from, _)| from.saturating_sub(1));
        let known = begin.checked_sub(1).map(|before| self.batches[before].after.as_slice()).unwrap_or_default();
        let known: Vec<MetricChange> =
            known.iter().map(|&(metric, value)| MetricChange { sample: at, metric, value }).collect();
        series.feed(&known);
        for rows in run.changes().skip(begin).take(end + 1 - begin).flatten() {
            series.feed(&rows);
        }
        series
    }

    fn describe(&mut self, run: &Run) {
        let batches = run.descriptors();
        let count = batches.locations().len();
        if count == self.described {
            return;
        }
        self.described = count;
        // A run notes its own damage.
        for rows in batches.filter_map(Result::ok) {
            let wanted = rows.into_iter().filter(wanted_metric);
            self.descriptors.extend(wanted.map(|metric| (metric.id, metric)));
        }
        // Values of metrics that were unknown so far were skipped: read again.
        self.places.clear();
        self.batches.clear();
    }

    fn read(&mut self, run: &Run) {
        let changes = run.changes();
        let places = changes.locations();
        let same = places.iter().zip(&self.places).take_while(|(new, old)| new == old).count();
        self.batches.truncate(same);
        let last = self.batches.last().map(|batch| batch.after.as_slice()).unwrap_or_default();
        let mut now: HashMap<MetricId, Option<i64>> = last.iter().copied().collect();
        for batch in changes.skip(same) {
            let rows = batch.unwrap_or_default();
            let samples = rows.iter().map(|row| (row.sample, row.sample));
            let samples = samples.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
            for row in rows.iter().filter(|row| self.descriptors.contains_key(&row.metric)) {
                now.insert(row.metric, row.value);
            }
            self.batches.push(Values { samples, after: now.iter().map(|(metric, value)| (*metric, *value)).collect() });
        }
        self.places = places;
    }
}
