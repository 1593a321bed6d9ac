//! The threads of an actor, and which of them one is.

use crate::recipe::Pacing;

/// The threads of an actor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ThreadGroup {
    /// How many threads.
    pub(crate) threads: u64,
    /// They use the first directories, this many of them.
    pub(crate) directories: usize,
    /// Rounds per second of all threads together; `None`: each round follows the one before.
    pub(crate) rate_per_s: Option<f64>,
    /// How paced rounds are spread.
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
