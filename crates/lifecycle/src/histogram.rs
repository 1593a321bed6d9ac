//! Sparse histogram: the buckets of [`model::latency`], in pages allocated on first use.

use model::latency::{BUCKET_COUNT, index_of, range_of};

const PAGE_BITS: u32 = 6;
const PAGE: usize = 1 << PAGE_BITS;

/// Counts values with 3 significant digits; count, sum, minimum and maximum are exact.
///
/// A histogram of real latencies touches a few dozen pages of 256 bytes, not the 132 KiB of all buckets.
/// `COARSE` drops that many bits of the bucket number: 4 leaves 1.6 % precision and an eighth of the memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram<const COARSE: u32 = 0> {
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
    /// Number of the bucket page's memory plus 1; 0 is a page without counts.
    pages: Vec<u16>,
    counts: Vec<[u32; PAGE]>,
}

impl<const COARSE: u32> Default for Histogram<COARSE> {
    fn default() -> Self {
        Histogram { count: 0, sum: 0, min: u64::MAX, max: 0, pages: Vec::new(), counts: Vec::new() }
    }
}

impl<const COARSE: u32> Histogram<COARSE> {
    const PAGES: usize = (BUCKET_COUNT >> COARSE) / PAGE + 1;

    /// Counts `value`.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.count += 1;
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        let bucket = (index_of(value) >> COARSE) as usize;
        let page = match self.pages.get(bucket >> PAGE_BITS) {
            Some(&page) if page != 0 => page,
            _ => self.add_page(bucket >> PAGE_BITS),
        };
        self.counts[usize::from(page) - 1][bucket & (PAGE - 1)] += 1;
    }

    #[cold]
    fn add_page(&mut self, page: usize) -> u16 {
        if self.pages.is_empty() {
            self.pages = vec![0; Self::PAGES];
        }
        self.counts.push([0; PAGE]);
        self.pages[page] = self.counts.len() as u16;
        self.pages[page]
    }

    /// Adds the other's counts.
    pub fn merge(&mut self, other: &Histogram<COARSE>) {
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        for (page, &from) in other.pages.iter().enumerate().filter(|(_, from)| **from != 0) {
            let to = match self.pages.get(page) {
                Some(&to) if to != 0 => to,
                _ => self.add_page(page),
            };
            let from = &other.counts[usize::from(from) - 1];
            for (to, from) in self.counts[usize::from(to) - 1].iter_mut().zip(from) {
                *to += from;
            }
        }
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The smallest; `None` without values.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest; `None` without values.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// Mean, rounded; `None` without values.
    pub fn mean(&self) -> Option<u64> {
        let count = u128::from(self.count);
        (count > 0).then(|| ((self.sum + count / 2) / count) as u64)
    }

    /// The value that the share `quantile` of all values does not exceed: the upper end of its bucket, as in
    /// HdrHistogram, but never above the largest value. `None` without values.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let rank = ((quantile.clamp(0.0, 1.0) * self.count as f64).ceil() as u64).clamp(1, self.count);
        let mut seen = 0;
        for (bucket, count) in self.buckets() {
            seen += count;
            if seen >= rank {
                return Some(upper_end::<COARSE>(bucket).clamp(self.min, self.max));
            }
        }
        Some(self.max)
    }

    /// The bucket with the most values: its smallest and largest value, and its count. `None` without values.
    pub fn mode(&self) -> Option<(u64, u64, u64)> {
        self.ranges().max_by_key(|&(low, _, count)| (count, std::cmp::Reverse(low)))
    }

    /// Non-empty buckets, ascending: smallest and largest value, and count.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.buckets()
            .map(|(bucket, count)| (range_of((bucket << COARSE) as u32).0, upper_end::<COARSE>(bucket), count))
    }

    /// Buckets with values, ascending.
    fn buckets(&self) -> impl Iterator<Item = (usize, u64)> {
        self.pages.iter().enumerate().filter(|(_, memory)| **memory != 0).flat_map(|(page, &memory)| {
            let counts = &self.counts[usize::from(memory) - 1];
            counts
                .iter()
                .enumerate()
                .filter(|(_, count)| **count > 0)
                .map(move |(within, &count)| ((page << PAGE_BITS) + within, u64::from(count)))
        })
    }
}

fn upper_end<const COARSE: u32>(bucket: usize) -> u64 {
    let last = ((bucket + 1) << COARSE) - 1;
    range_of(last.min(BUCKET_COUNT - 1) as u32).1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Histogram;

    #[test]
    fn nothing_is_none() {
        let empty = Histogram::<0>::default();
        assert_eq!((empty.min(), empty.mean(), empty.quantile(0.5), empty.mode()), (None, None, None, None));
    }

    proptest! {
        #[test]
        fn quantiles_are_within_a_thousandth(mut values in proptest::collection::vec(0_u64..10_000_000_000, 1..200)) {
            let mut histogram = Histogram::<0>::default();
            let mut coarse = Histogram::<4>::default();
            for &value in &values {
                histogram.record(value);
                coarse.record(value);
            }
            values.sort_unstable();
            prop_assert_eq!(histogram.min(), values.first().copied());
            prop_assert_eq!(histogram.max(), values.last().copied());
            prop_assert_eq!(histogram.sum(), values.iter().map(|&v| u128::from(v)).sum::<u128>());
            for quantile in [0.0, 0.5, 0.99, 1.0] {
                let rank = ((quantile * values.len() as f64).ceil() as usize).clamp(1, values.len());
                let exact = values[rank - 1];
                let shown = histogram.quantile(quantile).unwrap();
                prop_assert!(shown >= exact && shown as f64 <= exact as f64 * 1.001 + 1.0, "{} {}", shown, exact);
                let shown = coarse.quantile(quantile).unwrap();
                prop_assert!(shown >= exact && shown as f64 <= exact as f64 * 1.016 + 16.0, "{} {}", shown, exact);
            }
        }

        #[test]
        fn merging_is_counting_together(
            a in proptest::collection::vec(0_u64..1_000_000, 0..50),
            b in proptest::collection::vec(0_u64..1_000_000_000, 0..50),
        ) {
            let count = |values: &[u64]| {
                let mut histogram = Histogram::<0>::default();
                values.iter().for_each(|&value| histogram.record(value));
                histogram
            };
            let mut merged = count(&a);
            merged.merge(&count(&b));
            let together = count(&[a, b].concat());
            for quantile in [0.1, 0.5, 0.9] {
                prop_assert_eq!(merged.quantile(quantile), together.quantile(quantile));
            }
            prop_assert_eq!((merged.count(), merged.sum()), (together.count(), together.sum()));
        }
    }
}
