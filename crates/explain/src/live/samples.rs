//! The latest samples of the metrics that a look needs.

use std::collections::{HashMap, VecDeque};

use model::metric::{MetricChange, MetricDescriptor, MetricId, SampleHeader};

use crate::series::SeriesSet;
use crate::snapshot::wanted_metric;

/// Samples, and the values before them.
#[derive(Debug, Default)]
pub(super) struct Samples {
    wanted: HashMap<MetricId, MetricDescriptor>,
    kept: VecDeque<(SampleHeader, Vec<MetricChange>)>,
    /// Values before the first kept sample.
    before: HashMap<MetricId, Option<i64>>,
    /// Ordinals restart with a rotation, so samples are numbered here.
    ordinal: u32,
    bytes: usize,
}

impl Samples {
    pub(super) fn add(&mut self, header: &SampleHeader, descriptors: &[MetricDescriptor], changes: &[MetricChange]) {
        let wanted = descriptors.iter().filter(|metric| wanted_metric(metric));
        self.wanted.extend(wanted.map(|metric| (metric.id, metric.clone())));
        let sample = self.ordinal;
        self.ordinal = self.ordinal.wrapping_add(1);
        let kept = changes.iter().filter(|change| self.wanted.contains_key(&change.metric));
        let kept: Vec<MetricChange> = kept.map(|change| MetricChange { sample, ..*change }).collect();
        self.bytes += size_of(&kept);
        self.kept.push_back((SampleHeader { sample, ..*header }, kept));
    }

    pub(super) fn first_ns(&self) -> Option<u64> {
        self.kept.front().map(|(header, _)| header.at.monotonic_ns)
    }

    pub(super) fn last_ns(&self) -> Option<u64> {
        self.kept.back().map(|(header, _)| header.at.monotonic_ns)
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Forgets the oldest sample, but its values.
    pub(super) fn pop(&mut self) {
        let Some((_, changes)) = self.kept.pop_front() else { return };
        self.bytes -= size_of(&changes);
        self.before.extend(changes.iter().map(|change| (change.metric, change.value)));
    }

    /// All until a moment.
    pub(super) fn series(&self, until_ns: u64) -> SeriesSet {
        let mut series = SeriesSet::default();
        series.describe(&self.wanted.values().cloned().collect::<Vec<_>>(), |_| true);
        let first = self.kept.front().map_or(0, |(header, _)| header.sample);
        let before = self.before.iter().map(|(&metric, &value)| MetricChange { sample: first, metric, value });
        series.feed(&before.collect::<Vec<_>>());
        for (header, changes) in self.kept.iter().filter(|(header, _)| header.at.monotonic_ns <= until_ns) {
            series.sample(*header);
            series.feed(changes);
        }
        series
    }
}

fn size_of(changes: &[MetricChange]) -> usize {
    std::mem::size_of::<SampleHeader>() + std::mem::size_of::<Vec<MetricChange>>() + std::mem::size_of_val(changes)
}
