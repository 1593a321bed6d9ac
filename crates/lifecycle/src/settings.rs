//! Thresholds and bounds of the lifecycle.

/// Thresholds and bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Bios slower than this are recorded individually.
    pub slower_than_ns: u64,
    /// With I/O in flight and no event for this long, the clock has jumped.
    pub clock_jump_ns: u64,
    /// A bio in flight for longer than this is given up.
    pub max_age_ns: u64,
    /// With more bios in flight than this, the oldest is given up.
    pub max_in_flight: usize,
    /// Maximum number of slow bios recorded individually: the slowest. All slow bios count in the sums.
    pub max_slow: usize,
    /// After this many batches of 512 completed bios, where there can be another thread, it counts their times.
    pub threads_after: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            slower_than_ns: 1_000_000_000,
            clock_jump_ns: 300_000_000_000,
            max_age_ns: 600_000_000_000,
            max_in_flight: 1 << 16,
            max_slow: 2000,
            threads_after: 64,
        }
    }
}
