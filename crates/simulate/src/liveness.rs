//! Who waits for whom when nothing will ever happen again.

/// A task that waits for something that will never happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiter {
    /// The task: `writer 3`.
    pub task: String,
    /// What it waits for: `a grant`, `numdirtybuffers below hidirtybuffers`.
    pub awaits: String,
    /// The tasks that could end the wait, as their [`Waiter::task`]; empty if none can.
    pub from: Vec<String>,
    /// Start of the wait.
    pub since_ns: u64,
}

/// A state in which tasks wait and nothing is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hang {
    /// Time of the last event.
    pub at_ns: u64,
    /// All waiting tasks, in task order.
    pub waiters: Vec<Waiter>,
}
