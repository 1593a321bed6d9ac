//! Who waits for whom when nothing will ever happen again.

/// A task that waits for something that will not come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiter {
    /// The task: `writer 3`.
    pub task: String,
    /// What it waits for: `a grant`, `numdirtybuffers below hidirtybuffers`.
    pub awaits: String,
    /// Who could give it, as [`Waiter::task`] of others; empty where nobody can.
    pub from: Vec<String>,
    /// Since when.
    pub since_ns: u64,
}

/// A model in which tasks wait and nothing is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hang {
    /// When the last thing happened.
    pub at_ns: u64,
    /// Everybody who waits, in the order of the tasks.
    pub waiters: Vec<Waiter>,
}
