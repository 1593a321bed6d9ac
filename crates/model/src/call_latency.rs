//! Timed calls of a kernel function, or of the interval between two tracepoints: how many, how long, and what was
//! missed.

use crate::stall::{REQUEST_BUCKETS, request_bucket, request_bucket_floor_ns};

/// The unit that a histogram is shown in. It scales the fine buckets: each power of two of this unit is a bucket
/// boundary, and the buckets sum exactly to a histogram of powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LatencyUnit {
    /// Nanoseconds.
    Nanoseconds,
    /// Microseconds.
    Microseconds,
    /// Milliseconds.
    Milliseconds,
}

impl LatencyUnit {
    /// All units.
    pub const ALL: [LatencyUnit; 3] = [LatencyUnit::Nanoseconds, LatencyUnit::Microseconds, LatencyUnit::Milliseconds];

    /// Its symbol: `us`.
    pub fn symbol(self) -> &'static str {
        match self {
            LatencyUnit::Nanoseconds => "ns",
            LatencyUnit::Microseconds => "us",
            LatencyUnit::Milliseconds => "ms",
        }
    }

    /// Nanoseconds in one.
    pub fn ns(self) -> u64 {
        match self {
            LatencyUnit::Nanoseconds => 1,
            LatencyUnit::Microseconds => 1_000,
            LatencyUnit::Milliseconds => 1_000_000,
        }
    }

    /// Bits that a scaled time has below one unit: 1 us is 2^10 scaled nanoseconds.
    pub fn fraction_bits(self) -> u32 {
        match self {
            LatencyUnit::Nanoseconds => 0,
            LatencyUnit::Microseconds => 10,
            LatencyUnit::Milliseconds => 20,
        }
    }

    /// Multiplier and divisor that scale nanoseconds, in lowest terms: 1000 ns become 1024 for microseconds.
    pub fn scale(self) -> (u64, u64) {
        match self {
            LatencyUnit::Nanoseconds => (1, 1),
            LatencyUnit::Microseconds => (128, 125),
            LatencyUnit::Milliseconds => (16_384, 15_625),
        }
    }

    /// The fine bucket that a duration falls into. The last bucket holds all longer times.
    pub fn bucket(self, ns: u64) -> u32 {
        let (multiplier, divisor) = self.scale();
        request_bucket(ns.min(1 << 45) * multiplier / divisor)
    }

    /// The shortest duration of a fine bucket.
    pub fn bucket_floor_ns(self, index: u32) -> u64 {
        let (multiplier, divisor) = self.scale();
        let scaled = u128::from(request_bucket_floor_ns(index)) * u128::from(divisor);
        u64::try_from(scaled.div_ceil(u128::from(multiplier))).unwrap_or(u64::MAX)
    }
}

/// A latency histogram of calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatencyHistogram {
    /// The unit that scales the buckets.
    pub unit: LatencyUnit,
    /// How many.
    pub count: u64,
    /// Sum of all times.
    pub sum_ns: u64,
    /// The shortest; `None` without calls, and where only the buckets are known.
    pub min_ns: Option<u64>,
    /// The longest; `None` in the same cases.
    pub max_ns: Option<u64>,
    /// Counts by [`LatencyUnit::bucket`], all [`REQUEST_BUCKETS`] of them.
    pub buckets: Vec<u64>,
}

impl LatencyHistogram {
    /// An empty histogram.
    pub fn new(unit: LatencyUnit) -> LatencyHistogram {
        let buckets = vec![0; REQUEST_BUCKETS as usize];
        LatencyHistogram { unit, count: 0, sum_ns: 0, min_ns: None, max_ns: None, buckets }
    }

    /// Adds a call.
    pub fn add(&mut self, ns: u64) {
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.min_ns = Some(self.min_ns.map_or(ns, |min_ns| min_ns.min(ns)));
        self.max_ns = Some(self.max_ns.map_or(ns, |max_ns| max_ns.max(ns)));
        self.buckets[self.unit.bucket(ns) as usize] += 1;
    }

    /// Adds another histogram of the same unit.
    pub fn merge(&mut self, other: &LatencyHistogram) {
        self.count += other.count;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.min_ns = self.min_ns.into_iter().chain(other.min_ns).min();
        self.max_ns = self.max_ns.into_iter().chain(other.max_ns).max();
        for (mine, others) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += others;
        }
    }

    /// The difference since an earlier state of the same histogram. Its shortest and longest are unknown.
    pub fn since(&self, earlier: &LatencyHistogram) -> LatencyHistogram {
        let buckets = self.buckets.iter().zip(&earlier.buckets).map(|(now, then)| now.saturating_sub(*then)).collect();
        LatencyHistogram {
            unit: self.unit,
            count: self.count.saturating_sub(earlier.count),
            sum_ns: self.sum_ns.saturating_sub(earlier.sum_ns),
            min_ns: None,
            max_ns: None,
            buckets,
        }
    }
}

/// The fate of begins and ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Begins that were seen.
    pub begun: u64,
    /// Ends that were paired with their begin.
    pub ended: u64,
    /// Of those, calls too short or too long for the filter.
    pub filtered: u64,
    /// Ends without a begin: in progress when the timing began, or begun in another task.
    pub ends_alone: u64,
    /// Begins dropped because the task began too many others since, without an end.
    pub forgotten: u64,
    /// Begins that could not be stored.
    pub no_room: u64,
    /// Calls counted under all others, because there were too many groups.
    pub no_group: u64,
    /// Begins and ends that the kernel skipped; `None` where it does not count them.
    pub missed: Option<u64>,
}

impl CallCounts {
    /// Begins without an end yet: still in progress, or the end was missed.
    pub fn open(&self) -> u64 {
        self.begun.saturating_sub(self.ended).saturating_sub(self.forgotten).saturating_sub(self.no_room)
    }
}

/// The timed calls of one task or cgroup, or of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatencyGroup {
    /// `fio/1234`, or a cgroup's path; `None` for all together.
    pub name: Option<String>,
    /// How long they took.
    pub histogram: LatencyHistogram,
}

#[cfg(test)]
mod tests {
    use super::{LatencyHistogram, LatencyUnit};
    use crate::stall::{REQUEST_BUCKETS, request_bucket_floor_ns};

    #[test]
    fn each_power_of_two_of_the_unit_begins_a_bucket() {
        for unit in LatencyUnit::ALL {
            for power in 0..20 {
                let border_ns = unit.ns() << power;
                let bucket = unit.bucket(border_ns);
                assert_eq!(request_bucket_floor_ns(bucket), 1 << (unit.fraction_bits() + power), "{unit:?} {power}");
                assert!(unit.bucket(border_ns - 1) < bucket, "{unit:?} {power}");
            }
        }
    }

    #[test]
    fn a_floor_is_the_first_duration_of_its_bucket() {
        for unit in LatencyUnit::ALL {
            for bucket in 16..REQUEST_BUCKETS {
                let floor_ns = unit.bucket_floor_ns(bucket);
                assert_eq!((unit.bucket(floor_ns), unit.bucket(floor_ns - 1)), (bucket, bucket - 1), "{unit:?}");
            }
            assert_eq!(unit.bucket(u64::MAX), REQUEST_BUCKETS - 1);
        }
    }

    #[test]
    fn the_difference_of_two_states_is_what_was_added() {
        let mut histogram = LatencyHistogram::new(LatencyUnit::Microseconds);
        histogram.add(5_000);
        let earlier = histogram.clone();
        histogram.add(9_000);
        histogram.add(9_001);
        let since = histogram.since(&earlier);
        assert_eq!((since.count, since.sum_ns, since.max_ns), (2, 18_001, None));
        assert_eq!(since.buckets[LatencyUnit::Microseconds.bucket(9_000) as usize], 2);
        assert_eq!((histogram.min_ns, histogram.max_ns), (Some(5_000), Some(9_001)));
    }
}
