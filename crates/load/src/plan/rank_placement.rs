//! The part of a plan that one node and one process of it do, where a launcher started the ranks on many machines.

use serde::{Deserialize, Serialize};

/// Which ranks run where. Thread `n` of each actor belongs to rank `n` modulo the ranks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankPlacement {
    /// Ranks of the whole load, on all nodes.
    pub ranks: u64,
    /// Those of this node, ascending; the first is its leader.
    pub here: Vec<u64>,
    /// The rank of this process.
    pub own: u64,
}

impl RankPlacement {
    /// Whether this node runs that thread of an actor.
    pub(crate) fn is_here(&self, ordinal: u64) -> bool {
        self.here.binary_search(&self.rank_of(ordinal)).is_ok()
    }

    /// Whether this process runs that thread of an actor.
    pub(crate) fn is_own(&self, ordinal: u64) -> bool {
        self.rank_of(ordinal) == self.own
    }

    /// Whether this process makes the data directories and fills them.
    pub fn fills(&self) -> bool {
        self.own == 0
    }

    /// Whether a process of this node fills the data directories.
    pub(crate) fn fills_here(&self) -> bool {
        self.here.first() == Some(&0)
    }

    fn rank_of(&self, ordinal: u64) -> u64 {
        ordinal % self.ranks.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::RankPlacement;

    #[test]
    fn each_thread_belongs_to_one_rank() {
        let placement = |here: &[u64], own| RankPlacement { ranks: 4, here: here.to_vec(), own };
        let (first, second) = (placement(&[0, 2], 2), placement(&[1, 3], 1));
        for ordinal in 0..9 {
            assert_ne!(first.is_here(ordinal), second.is_here(ordinal), "{ordinal}");
        }
        assert_eq!((0..9).filter(|ordinal| first.is_own(*ordinal)).collect::<Vec<_>>(), [2, 6]);
        assert!(first.fills_here() && !first.fills() && !second.fills_here());
    }
}
