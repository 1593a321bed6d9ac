//! Turns of simulated threads.

use crate::waits::Waits;

/// A turn of a simulation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Simulated {
    pub(super) tid: u32,
    pub(super) start_ns: u64,
    pub(super) duration_ns: u64,
    /// The recorded turn whose rest it has; `None` where the limit delayed it, which is not by chance.
    pub(super) like: Option<usize>,
}

impl Simulated {
    pub(super) fn is_slow_by_limit(&self, waits: &Waits) -> bool {
        self.like.is_none() && self.duration_ns >= waits.slower_than_ns
    }
}
