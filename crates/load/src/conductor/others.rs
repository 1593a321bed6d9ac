//! The other nodes of a load whose ranks run on many machines.

use serde::{Deserialize, Serialize};

use crate::board::ThreadShare;

/// The conductors of the other nodes, as one conductor sees them. Nothing here waits: it asks again at its next poll.
/// Without others the board alone decides.
pub trait Others {
    /// All threads of this node are ready for the phase with that sequence number: the common start on this machine's
    /// clock, once those of all nodes are.
    fn start_ns(&mut self, sequence: u32) -> Option<u64>;

    /// The phase has ended on this node: what it left on the others, once it has ended on all.
    fn end(&mut self, sequence: u32, here: &PartEnd) -> Option<PartEnd>;

    /// This node's load has failed or stops, and with it that of the others. Called once.
    fn fail(&mut self, why: &str);

    /// Why another node's load has failed, if one has.
    fn failure(&mut self) -> Option<String>;
}

/// What a phase left on one node, or on several.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartEnd {
    /// Whether a file system was found full.
    pub is_full: bool,
    /// Each thread's number in the plan, and its share, in this machine's clock.
    pub shares: Vec<(usize, ThreadShare)>,
}
