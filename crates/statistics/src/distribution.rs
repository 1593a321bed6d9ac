//! The latency distribution of a class of operations, merged from interval records.

use hdrhistogram::Histogram;
use model::latency::{HIGHEST_NS, SIGNIFICANT_DIGITS, range_of};
use model::operation::IntervalRecord;

use crate::beta::incomplete_beta;

/// All finished operations of one class over any number of intervals.
///
/// Count, errors, bytes, mean and maximum are exact; percentiles carry three significant digits.
#[derive(Debug, Clone)]
pub struct Distribution {
    histogram: Histogram<u64>,
    count: u64,
    errors: u64,
    bytes: u64,
    sum_ns: u128,
    max_ns: Option<u64>,
}

impl Default for Distribution {
    fn default() -> Distribution {
        Distribution {
            histogram: Histogram::new_with_bounds(1, HIGHEST_NS, SIGNIFICANT_DIGITS)
                .expect("the bounds of the shared layout are valid"),
            count: 0,
            errors: 0,
            bytes: 0,
            sum_ns: 0,
            max_ns: None,
        }
    }
}

impl Distribution {
    /// Adds an interval's operations. Buckets of an unknown layout (index past the last) count in the last one.
    pub fn add(&mut self, record: &IntervalRecord) {
        for bucket in &record.buckets {
            let (low, _) = range_of(bucket.index);
            self.histogram.saturating_record_n(low.max(1), bucket.count);
        }
        self.count += record.count;
        self.errors += record.errors;
        self.bytes += record.bytes;
        self.sum_ns += u128::from(record.sum_ns);
        self.max_ns = self.max_ns.max(record.max_ns);
    }

    /// Adds the operations of another distribution.
    pub fn merge(&mut self, other: &Distribution) {
        self.histogram.add(&other.histogram).expect("all distributions have the same bounds");
        self.count = self.count.saturating_add(other.count);
        self.errors = self.errors.saturating_add(other.errors);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Operations that finished.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Operations that failed.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// Bytes moved.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Shortest latency, to three significant digits; `None` when nothing finished.
    pub fn min_ns(&self) -> Option<u64> {
        (!self.histogram.is_empty()).then(|| self.histogram.min())
    }

    /// Longest latency, exact.
    pub fn max_ns(&self) -> Option<u64> {
        self.max_ns
    }

    /// Mean latency, exact to the nanosecond.
    pub fn mean_ns(&self) -> Option<u64> {
        (self.count > 0).then(|| (self.sum_ns / u128::from(self.count)) as u64)
    }

    /// The latency that the share `quantile` (0 to 1) of the operations does not exceed, never above the exact maximum;
    /// `None` when nothing finished.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        if self.histogram.is_empty() {
            return None;
        }
        let value = self.histogram.value_at_quantile(quantile);
        Some(self.max_ns.map_or(value, |max| value.min(max)))
    }

    /// The same quantile estimated from all operations near it, weighted by the probability that each is the quantile
    /// of such a sample (Harrell, Davis 1982): it varies less between runs than a single order statistic. `None` when
    /// nothing finished.
    pub fn smooth_quantile_ns(&self, quantile: f64) -> Option<f64> {
        let all = self.histogram.len() as f64;
        if all == 0.0 {
            return None;
        }
        let (a, b) = (quantile * (all + 1.0), (1.0 - quantile) * (all + 1.0));
        // Weights beyond ten standard deviations are negligible, unless they are skewed.
        let is_skewed = a.min(b) < 10.0;
        let reach = if is_skewed { 1.0 } else { 10.0 * (quantile * (1.0 - quantile) / (all + 2.0)).sqrt() };
        let weight_up_to = |share: f64| match share {
            share if share <= quantile - reach => 0.0,
            share if share >= (quantile + reach).min(1.0) => 1.0,
            share => incomplete_beta(share, a, b),
        };
        let (mut seen, mut before, mut sum) = (0, 0.0, 0.0);
        for step in self.histogram.iter_recorded() {
            seen += step.count_at_value();
            let up_to = weight_up_to(seen as f64 / all);
            let value_ns = step.value_iterated_to();
            sum += (up_to - before) * self.max_ns.map_or(value_ns, |max| value_ns.min(max)) as f64;
            before = up_to;
        }
        Some(sum)
    }

    /// Whether there are enough operations for a quantile: at least one is expected beyond it. With fewer, the quantile
    /// is just the maximum.
    pub fn supports(&self, quantile: f64) -> bool {
        // 0.99 has no exact binary form; the slack makes 100 operations enough for it.
        self.count as f64 * (1.0 - quantile) >= 1.0 - 1e-9
    }
}

#[cfg(test)]
mod tests {
    use model::latency::index_of;
    use model::operation::{Bucket, IntervalRecord};

    use super::Distribution;

    fn record(latencies_ns: &[u64]) -> IntervalRecord {
        let mut buckets: Vec<Bucket> = Vec::new();
        for &latency in latencies_ns {
            let index = index_of(latency);
            match buckets.iter_mut().find(|bucket| bucket.index == index) {
                Some(bucket) => bucket.count += 1,
                None => buckets.push(Bucket { index, count: 1 }),
            }
        }
        IntervalRecord {
            count: latencies_ns.len() as u64,
            sum_ns: latencies_ns.iter().sum(),
            max_ns: latencies_ns.iter().copied().max(),
            buckets,
            ..IntervalRecord::default()
        }
    }

    #[test]
    fn intervals_merge_into_the_distribution_of_all_operations() {
        let mut merged = Distribution::default();
        let all: Vec<u64> = (1..=1000).map(|n| n * 1_000_000).collect();
        for part in all.chunks(70) {
            merged.add(&record(part));
        }
        assert_eq!(merged.count(), 1000);
        assert_eq!(merged.mean_ns(), Some(500_500_000));
        assert_eq!(merged.max_ns(), Some(1_000_000_000));
        for (quantile, expected) in [(0.5, 500e6), (0.95, 950e6), (0.99, 990e6)] {
            let value = merged.quantile_ns(quantile).unwrap() as f64;
            assert!((value / expected - 1.0).abs() < 0.0011, "{quantile}: {value}");
        }
    }

    #[test]
    fn nothing_finished_is_unknown_not_zero() {
        let empty = Distribution::default();
        assert_eq!((empty.mean_ns(), empty.max_ns(), empty.quantile_ns(0.5)), (None, None, None));
        assert!(!empty.supports(0.5));
    }

    #[test]
    fn a_quantile_needs_an_operation_beyond_it() {
        let mut few = Distribution::default();
        few.add(&record(&[1_000; 99]));
        assert!(few.supports(0.95) && !few.supports(0.99));
        few.add(&record(&[1_000]));
        assert!(few.supports(0.99) && !few.supports(0.999));
    }

    /// `scipy.stats.mstats.hdquantiles` of SciPy 1.17.1, of the squares of 1 to 50 and of 1 to 1000.
    #[test]
    fn smooth_quantiles_are_those_of_scipy() {
        let check = |count: u64, quantile, expected: f64| {
            let mut all = Distribution::default();
            all.add(&record(&(1..=count).map(|n| n * n * 1_000).collect::<Vec<_>>()));
            let found = all.smooth_quantile_ns(quantile).unwrap();
            assert!((found / expected - 1.0).abs() < 0.001, "{found} is not {expected}");
        };
        check(50, 0.5, 662352.5641025641);
        check(50, 0.95, 2306514.2859895155);
        check(1000, 0.99, 981100213.5673349);
        check(1000, 0.999, 998837665.5315071);
        assert_eq!(Distribution::default().smooth_quantile_ns(0.5), None);
    }

    #[test]
    fn no_quantile_exceeds_the_exact_maximum() {
        let mut one = Distribution::default();
        one.add(&record(&[1_234_567]));
        assert_eq!(one.quantile_ns(0.999), Some(1_234_567));
    }
}
