//! Turns of simulated threads.

/// A turn of a simulation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Simulated {
    pub(super) tid: u32,
    pub(super) start_ns: u64,
    pub(super) duration_ns: u64,
    /// The recorded turn whose rest it has; `None` where the limit delayed it, which is not by chance.
    pub(super) like: Option<usize>,
}
