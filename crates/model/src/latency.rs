//! The bucket layout of latency histograms.
//!
//! The layout is HdrHistogram's (G. Tene) with 3 significant decimal digits and a lowest discernible value of 1 ns:
//! 2048 linear sub-buckets of 1 ns, then 1024 more for each doubling. Every bucket is at most 1/1024 of its value
//! wide. The layout is fixed for all runs, so histograms of any two runs add up bucket by bucket, and a writer that
//! shares an array of counters with a reader needs only [`index_of`].

/// Longest latency with an exact bucket: one hour. Longer ones count in the last bucket.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;

/// Significant decimal digits that a bucket keeps.
pub const SIGNIFICANT_DIGITS: u8 = 3;

const SUB_BUCKET_COUNT: u64 = 2048;
const SUB_BUCKET_HALF: u64 = SUB_BUCKET_COUNT / 2;
const SUB_BUCKET_HALF_BITS: u32 = SUB_BUCKET_HALF.trailing_zeros();

/// Number of buckets in a histogram.
pub const BUCKET_COUNT: usize = index_of(HIGHEST_NS) as usize + 1;

/// The bucket that a latency falls into.
pub const fn index_of(latency_ns: u64) -> u32 {
    let value = if latency_ns > HIGHEST_NS { HIGHEST_NS } else { latency_ns };
    let doubling = (u64::BITS - (value | (SUB_BUCKET_COUNT - 1)).leading_zeros()) - (SUB_BUCKET_HALF_BITS + 1);
    let sub_bucket = value >> doubling;
    ((doubling + 1) << SUB_BUCKET_HALF_BITS) + sub_bucket as u32 - SUB_BUCKET_HALF as u32
}

/// The smallest and largest latency of a bucket, in ns, both inclusive. An index past the last bucket is taken as the
/// last.
pub const fn range_of(index: u32) -> (u64, u64) {
    let index = if index as usize >= BUCKET_COUNT { BUCKET_COUNT as u32 - 1 } else { index };
    let block = index >> SUB_BUCKET_HALF_BITS;
    let within = (index as u64) & (SUB_BUCKET_HALF - 1);
    let (doubling, sub_bucket) = match block {
        0 => (0, within),
        _ => (block - 1, within + SUB_BUCKET_HALF),
    };
    let low = sub_bucket << doubling;
    (low, low + (1 << doubling) - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BUCKET_COUNT, HIGHEST_NS, index_of, range_of};

    #[test]
    fn buckets_follow_one_another_without_gap_or_overlap() {
        assert_eq!(range_of(0), (0, 0));
        for index in 1..BUCKET_COUNT as u32 {
            assert_eq!(range_of(index).0, range_of(index - 1).1 + 1, "bucket {index}");
        }
    }

    #[test]
    fn longer_than_the_highest_counts_in_the_last_bucket() {
        assert_eq!(index_of(u64::MAX), BUCKET_COUNT as u32 - 1);
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_bucket_and_the_bucket_is_narrow(value in 0..=HIGHEST_NS) {
            let (low, high) = range_of(index_of(value));
            prop_assert!(low <= value && value <= high);
            prop_assert!((high - low) as f64 <= value as f64 / 1000.0);
        }

        #[test]
        fn the_layout_is_that_of_hdrhistogram(value in 1..=HIGHEST_NS) {
            let reference = hdrhistogram::Histogram::<u64>::new_with_bounds(1, HIGHEST_NS, 3).unwrap();
            let (low, high) = range_of(index_of(value));
            prop_assert_eq!(low, reference.lowest_equivalent(value));
            prop_assert_eq!(high, reference.highest_equivalent(value));
        }
    }
}
