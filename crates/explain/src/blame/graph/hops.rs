//! How far paths go.

use crate::blame::graph::follow::Bounds;

/// Of the waits that a path leads through, how many may end at the same moment.
const AT_ONCE: usize = 8;

/// Keeps a path from going on without end.
#[derive(Debug, Default)]
pub(super) struct Hops {
    all: usize,
    at_once: usize,
    until_ns: u64,
}

impl Hops {
    /// Whether it may go on from that moment.
    pub(super) fn may_go_on(&mut self, until_ns: u64) -> bool {
        self.all += 1;
        self.at_once = if until_ns == self.until_ns { self.at_once + 1 } else { 0 };
        self.until_ns = until_ns;
        self.all <= Bounds::PATH.waits && self.at_once < AT_ONCE
    }
}
