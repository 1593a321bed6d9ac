//! The threads of an actor, and the identity of one of them.

use crate::recipe::Pacing;

/// The threads of an actor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ThreadGroup {
    /// How many threads.
    pub(crate) threads: u64,
    /// Number of directories that they use: the first ones.
    pub(crate) directories: usize,
    /// Rounds per second, total of all threads; `None`: closed loop.
    pub(crate) rate_per_s: Option<f64>,
    /// The arrival distribution of paced rounds.
    pub(crate) pacing: Pacing,
}

/// Which thread of the load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ActorThread {
    /// Index of the actor.
    pub(crate) actor: usize,
    /// Index among the actor's threads.
    pub(crate) ordinal: u64,
    /// Index among all threads.
    pub(crate) index: usize,
}
