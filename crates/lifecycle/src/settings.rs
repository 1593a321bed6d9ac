//! Thresholds and bounds of the lifecycle.

/// Thresholds and bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Bios that take longer are looked at one by one.
    pub slower_than_ns: u64,
    /// When nothing at all happens for so long although I/O is in flight, the clock has jumped.
    pub clock_jump_ns: u64,
    /// A bio in flight for longer will not complete any more.
    pub max_age_ns: u64,
    /// With more bios in flight than this, the oldest is given up.
    pub max_in_flight: usize,
    /// So many slow bios are kept one by one: the slowest. All of them count in the sums.
    pub max_slow: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            slower_than_ns: 1_000_000_000,
            clock_jump_ns: 300_000_000_000,
            max_age_ns: 600_000_000_000,
            max_in_flight: 1 << 16,
            max_slow: 2000,
        }
    }
}
