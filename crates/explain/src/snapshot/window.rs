//! The window of a snapshot.

/// A time on the monotonic clock. Events that end in it count; overlapping times count for the part inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Start, excluded.
    pub from_ns: u64,
    /// End: the moment of the snapshot.
    pub to_ns: u64,
}

impl Window {
    /// Length.
    pub fn ns(self) -> u64 {
        self.to_ns.saturating_sub(self.from_ns)
    }
}
