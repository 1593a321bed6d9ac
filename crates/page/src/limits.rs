//! How much of a run the page shows.

/// How many rows are shown individually. The longest are chosen; the page also shows the total.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Slow operations in the list.
    pub stalls: usize,
    /// Slow operations shown with all details: chain, causes, request.
    pub in_full: usize,
    /// Block requests.
    pub requests: usize,
}

impl Limits {
    /// For a file that is sent to others: a few MB at most.
    pub const FILE: Limits = Limits { stalls: 100_000, in_full: 2_000, requests: 10_000 };
    /// For a server, which fetches the rest on demand.
    pub const SERVER: Limits = Limits { stalls: 500_000, in_full: 200, requests: 2_000 };
}
