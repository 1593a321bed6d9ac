//! Ticks of a simulation as times of the monotonic clock.

/// The monotonic clock does not begin with the recording.
const BEGAN_NS: u64 = 1_000_000_007;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    /// How long a tick is.
    pub(crate) tick_ns: u64,
}

impl Clock {
    /// A tick is an odd number of nanoseconds, so that no rounding goes unseen, and longer than all times in which
    /// `explain` takes two events for one.
    pub(crate) const SLOW: Clock = Clock { tick_ns: 61_000_003 };
    /// All is close in time.
    pub(crate) const FAST: Clock = Clock { tick_ns: 251_003 };

    pub(crate) fn ns(self, tick: u64) -> u64 {
        BEGAN_NS + tick * self.tick_ns
    }

    pub(crate) fn tick(self, at_ns: u64) -> u64 {
        self.ticks(at_ns - BEGAN_NS)
    }

    /// A duration.
    pub(crate) fn ticks(self, ns: u64) -> u64 {
        assert_eq!(ns % self.tick_ns, 0, "a part of a tick: {ns}");
        ns / self.tick_ns
    }
}
