//! The two clocks of a run.

use serde::{Deserialize, Serialize};

/// One moment read from both clocks.
///
/// Durations and order always come from `monotonic_ns`; `wall_ns` only says where on the calendar a run lies, and may
/// step at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Moment {
    /// `CLOCK_MONOTONIC`, nanoseconds; the clock of `bpf_ktime_get_ns`.
    pub monotonic_ns: u64,
    /// `CLOCK_REALTIME`, nanoseconds since 1970-01-01T00:00:00Z.
    pub wall_ns: i64,
}

impl Moment {
    /// Nanoseconds from `earlier` to `self` on the monotonic clock; 0 when `earlier` is the later one.
    pub fn since_ns(self, earlier: Moment) -> u64 {
        self.monotonic_ns.saturating_sub(earlier.monotonic_ns)
    }

    /// How far the wall clock ran ahead of (positive) or behind (negative) the monotonic clock between the two moments.
    pub fn wall_drift_ns(self, earlier: Moment) -> i64 {
        let monotonic = self.monotonic_ns.wrapping_sub(earlier.monotonic_ns) as i64;
        self.wall_ns.wrapping_sub(earlier.wall_ns).wrapping_sub(monotonic)
    }
}

#[cfg(test)]
mod tests {
    use super::Moment;

    #[test]
    fn a_step_of_the_wall_clock_is_drift_and_changes_no_duration() {
        let before = Moment { monotonic_ns: 1_000, wall_ns: 5_000 };
        let after = Moment { monotonic_ns: 2_000, wall_ns: 5_000 + 1_000 + 3_600_000_000_000 };
        assert_eq!(after.since_ns(before), 1_000);
        assert_eq!(after.wall_drift_ns(before), 3_600_000_000_000);
        let back = Moment { monotonic_ns: 2_000, wall_ns: 4_000 };
        assert_eq!(back.wall_drift_ns(before), -2_000);
    }
}
