//! The other ranks of a run, where a launcher started them.

use load::conductor::{Conductor, Launch, Others};

/// The ranks beside the one that leads a node, on it and on other nodes.
pub(super) trait Company {
    /// The other nodes, for the conductor.
    fn others(&self) -> Box<dyn Others>;

    /// The load has started: the other ranks of this node join it.
    fn join(&self, conductor: &Conductor, launch: &Launch);

    /// The load has ended here. Waits until no other rank uses the data, or none answers.
    fn wait_for_all(&self);

    /// Whether this rank shows the figures.
    fn shows(&self) -> bool;
}
