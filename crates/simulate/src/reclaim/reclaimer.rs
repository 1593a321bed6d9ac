//! A reclaimer of memory, and how far it has got.

use super::walk::Walk;

/// Where reclaim begins: it looks at a 4096th of the list. DEF_PRIORITY.
pub(super) const PRIORITY: u32 = 12;

/// A reclaimer on its way: through the list, then through the shrinkers, then through both with more force.
#[derive(Debug)]
pub(super) struct Reclaim {
    pub(super) kswapd: bool,
    /// It may enter file systems: __GFP_FS.
    pub(super) enters: bool,
    pub(super) priority: u32,
    pub(super) reclaimed: u64,
    /// Pages looked at in this round.
    pub(super) scanned: u64,
    pub(super) unclean: u64,
    pub(super) stage: Stage,
}

#[derive(Debug)]
pub(super) enum Stage {
    /// The list of pages.
    List,
    /// A shrinker: its file system, and which of the two; none of its work has begun.
    Shrinker(u8, usize),
    /// It has so much left to look at.
    Shrinking(u8, u64),
    /// It is in xfs_reclaim_inodes_ag, and has so much left to look at afterwards.
    Walking(Box<Walk>, u64),
    /// All shrinkers have been asked.
    Round,
    /// It pauses, and then it is over.
    Last,
}

impl Reclaim {
    pub(super) fn new(kswapd: bool, enters: bool) -> Box<Reclaim> {
        let stage = Stage::List;
        Box::new(Reclaim { kswapd, enters, priority: PRIORITY, reclaimed: 0, scanned: 0, unclean: 0, stage })
    }
}
