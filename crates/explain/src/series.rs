//! Values of chosen metrics over time, rebuilt from stored changes.

use std::collections::HashMap;

use model::metric::{MetricChange, MetricDescriptor, MetricId, SampleHeader, Semantics};

/// The values of one metric; only samples with changes are stored.
#[derive(Debug, Clone)]
pub struct Series {
    /// The metric.
    pub descriptor: MetricDescriptor,
    points: Vec<(u32, Option<i64>)>,
}

impl Series {
    /// An empty series.
    pub fn new(descriptor: MetricDescriptor) -> Series {
        Series { descriptor, points: Vec::new() }
    }

    fn push(&mut self, sample: u32, value: Option<i64>) {
        debug_assert!(self.points.last().is_none_or(|last| last.0 <= sample), "changes arrive in order");
        self.points.push((sample, value));
    }

    /// The value in force at a sample; `None` before the first and while the metric is absent.
    pub fn at(&self, sample: u32) -> Option<i64> {
        let after = self.points.partition_point(|point| point.0 <= sample);
        self.points[..after].last().and_then(|point| point.1)
    }

    /// Growth of a counter from one sample to a later one. A decrease counts as a reset to zero. `None` where the
    /// counter is absent at either end.
    pub fn growth(&self, from: u32, to: u32) -> Option<u64> {
        let mut last = self.at(from)?;
        self.at(to)?;
        let mut total = 0u64;
        let begin = self.points.partition_point(|point| point.0 <= from);
        for &(_, value) in self.points[begin..].iter().take_while(|point| point.0 <= to) {
            let Some(value) = value else { continue };
            let grown = if value >= last { value.abs_diff(last) } else { value.max(0) as u64 };
            total = total.saturating_add(grown);
            last = value;
        }
        Some(total)
    }

    /// Growth between two samples while the counter was present, and from which sample to which it was.
    pub(crate) fn present_growth(&self, from: u32, to: u32) -> (u64, Vec<(u32, u32)>) {
        let (mut total, mut spans) = (0, Vec::new());
        let mut open: Option<(u32, i64)> = self.at(from).map(|value| (from, value));
        let begin = self.points.partition_point(|point| point.0 <= from);
        for &(sample, value) in self.points[begin..].iter().take_while(|point| point.0 <= to) {
            match (value, open) {
                (Some(value), Some((since, last))) => {
                    total += if value >= last { (value - last) as u64 } else { value.max(0) as u64 };
                    open = Some((since, value));
                }
                (Some(value), None) => open = Some((sample, value)),
                (None, Some((since, _))) => {
                    spans.push((since, sample));
                    open = None;
                }
                (None, None) => {}
            }
        }
        spans.extend(open.map(|(since, _)| (since, to)));
        (total, spans)
    }

    /// Largest value within the samples, both ends included.
    pub fn max(&self, from: u32, to: u32) -> Option<i64> {
        let inside = self.points.iter().filter(|point| point.0 > from && point.0 <= to).filter_map(|point| point.1);
        inside.chain(self.at(from)).max()
    }
}

/// The requested series of a run, and the times of its samples.
///
/// Memory is bounded by the requested metrics; others cost nothing.
#[derive(Debug, Clone, Default)]
pub struct SeriesSet {
    wanted: Vec<Series>,
    index: HashMap<MetricId, usize>,
    headers: Vec<SampleHeader>,
}

impl SeriesSet {
    /// Adds the wanted descriptors. May be called again as more metrics appear.
    pub fn describe(&mut self, descriptors: &[MetricDescriptor], wanted: impl Fn(&MetricDescriptor) -> bool) {
        for descriptor in descriptors {
            if wanted(descriptor) && !self.index.contains_key(&descriptor.id) {
                self.index.insert(descriptor.id, self.wanted.len());
                self.wanted.push(Series::new(descriptor.clone()));
            }
        }
    }

    /// Adds a sample's time. Samples come in order.
    pub fn sample(&mut self, header: SampleHeader) {
        self.headers.push(header);
    }

    /// Adds changes. The changes of each metric are in order of time; metrics may be interleaved.
    pub fn feed(&mut self, changes: &[MetricChange]) {
        for change in changes {
            if let Some(&at) = self.index.get(&change.metric) {
                self.wanted[at].push(change.sample, change.value);
            }
        }
    }

    /// Times of the samples.
    pub fn headers(&self) -> &[SampleHeader] {
        &self.headers
    }

    /// All instances of the metric of that name.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Series> {
        self.wanted.iter().filter(move |series| series.descriptor.name == name)
    }

    /// All series with that name prefix.
    pub fn prefixed<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a Series> {
        self.wanted.iter().filter(move |series| series.descriptor.name.starts_with(prefix))
    }

    /// The last sample that started at or before a moment.
    pub fn sample_at(&self, monotonic_ns: u64) -> Option<u32> {
        let after = self.headers.partition_point(|header| header.at.monotonic_ns <= monotonic_ns);
        self.headers[..after].last().map(|header| header.sample)
    }

    /// When a sample was taken.
    pub fn time_of(&self, sample: u32) -> Option<u64> {
        let at = self.headers.binary_search_by_key(&sample, |header| header.sample).ok()?;
        Some(self.headers[at].at.monotonic_ns)
    }

    /// Growth per second of one counter between two samples while it was present; `None` if it was so at no two
    /// samples.
    pub fn present_rate_per_s(&self, counter: &Series, from: u32, to: u32) -> Option<f64> {
        let (total, spans) = counter.present_growth(from, to);
        let span_ns = |(from, to): (u32, u32)| Some(self.time_of(to)?.saturating_sub(self.time_of(from)?));
        let present_ns: u64 = spans.into_iter().filter_map(span_ns).sum();
        (present_ns > 0).then(|| total as f64 * 1e9 / present_ns as f64)
    }

    /// Growth per second of the sum of counters between two samples; `None` without counters, or without time between
    /// the samples.
    pub fn rate_per_s<'a>(&self, counters: impl Iterator<Item = &'a Series>, from: u32, to: u32) -> Option<f64> {
        let span_ns = self.time_of(to)?.checked_sub(self.time_of(from)?).filter(|&ns| ns > 0)?;
        let mut any = false;
        let mut total = 0u64;
        for series in counters.filter(|series| series.descriptor.semantics == Semantics::Counter) {
            if let Some(growth) = series.growth(from, to) {
                any = true;
                total += growth;
            }
        }
        any.then(|| total as f64 * 1e9 / span_ns as f64)
    }
}

#[cfg(test)]
mod tests {
    use model::metric::{MetricChange, MetricDescriptor, MetricId, SampleHeader, Semantics, Unit};
    use model::time::Moment;

    use super::SeriesSet;

    fn set(changes: &[(u32, Option<i64>)]) -> SeriesSet {
        let mut set = SeriesSet::default();
        let descriptor = MetricDescriptor {
            id: MetricId(7),
            name: "vmstat.allocstall_normal".into(),
            instance: String::new(),
            unit: Unit::Count,
            semantics: Semantics::Counter,
            device: None,
        };
        set.describe(&[descriptor], |_| true);
        for sample in 0..10 {
            let at = Moment { monotonic_ns: 1_000_000_000 * u64::from(sample), wall_ns: 0 };
            set.sample(SampleHeader { sample, at, late_ns: 0, cpu_ns: 0, took_ns: 0 });
        }
        let rows: Vec<MetricChange> =
            changes.iter().map(|&(sample, value)| MetricChange { sample, metric: MetricId(7), value }).collect();
        set.feed(&rows);
        set
    }

    #[test]
    fn unchanged_samples_keep_the_last_value() {
        let set = set(&[(0, Some(5)), (4, Some(9))]);
        let series = set.named("vmstat.allocstall_normal").next().unwrap();
        assert_eq!((series.at(3), series.at(4), series.at(9)), (Some(5), Some(9), Some(9)));
        assert_eq!(set.rate_per_s(set.prefixed("vmstat.allocstall"), 2, 6), Some(1.0));
    }

    #[test]
    fn a_reset_counter_restarts_from_zero() {
        let set = set(&[(0, Some(100)), (3, Some(110)), (5, Some(4))]);
        let series = set.named("vmstat.allocstall_normal").next().unwrap();
        assert_eq!(series.growth(0, 9), Some(14));
    }

    #[test]
    fn absent_is_unknown_not_zero() {
        let set = set(&[(2, Some(1)), (6, None)]);
        let series = set.named("vmstat.allocstall_normal").next().unwrap();
        assert_eq!((series.at(1), series.at(6)), (None, None));
        assert_eq!(series.growth(0, 4), None);
        assert_eq!(set.rate_per_s(set.prefixed("vmstat.pgscan"), 0, 9), None);
    }

    #[test]
    fn a_counter_that_vanished_counts_only_while_it_was_present() {
        let set = set(&[(2, Some(100)), (4, Some(160)), (5, None), (7, Some(1_000)), (8, Some(1_010))]);
        let counter = set.named("vmstat.allocstall_normal").next().unwrap();
        // 60 in three seconds, 10 in two.
        assert_eq!(set.present_rate_per_s(counter, 0, 9), Some(14.0));
        assert_eq!(set.present_rate_per_s(counter, 5, 6), None);
    }
}
