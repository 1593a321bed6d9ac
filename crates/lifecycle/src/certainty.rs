//! How far a bio's times can be trusted.

/// How far a finished bio's times can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// Nothing was lost while it was in flight.
    Exact,
    /// One event was lost. The times given are exact; the others are omitted.
    Part,
    /// Events were lost. The times given are likely, and excluded from all figures.
    Likely,
    /// The clock jumped. The times given are meaningless.
    AcrossJump,
}

impl Certainty {
    /// Whether the times count.
    pub const fn is_certain(self) -> bool {
        matches!(self, Certainty::Exact | Certainty::Part)
    }
}
