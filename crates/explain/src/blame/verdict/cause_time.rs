//! Time by cause.

use crate::blame::facts::cause::{Cause, EvidenceTimes};

/// Time that operations lost to one cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CauseTime {
    /// The cause.
    pub cause: Cause,
    /// Duration, ns.
    pub time_ns: u64,
    /// Operations that lost any time to it.
    pub operations: u64,
    /// Operations that lost more time to it than to any other cause. Over all causes these sum to the number of
    /// operations.
    pub most_of: u64,
    /// By evidence; sums to the time.
    pub evidence: EvidenceTimes,
    /// The part of it that counts for a client as well as for its server, by evidence: of the same slow operations.
    pub again: EvidenceTimes,
}

impl CauseTime {
    /// Duration in which each wait counts once, ns.
    pub fn once_ns(&self) -> u64 {
        self.time_ns.saturating_sub(self.again.total_ns())
    }
}
