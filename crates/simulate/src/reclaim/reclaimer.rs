//! The state of a task in reclaim.

use super::walk::Walk;

/// Initial priority: scans 1/4096 of the list. DEF_PRIORITY.
pub(super) const PRIORITY: u32 = 12;

/// A task in reclaim: it scans the list, then calls the shrinkers, then repeats both at a higher priority.
#[derive(Debug)]
pub(super) struct Reclaim {
    pub(super) kswapd: bool,
    /// It may enter file systems: __GFP_FS.
    pub(super) enters: bool,
    pub(super) priority: u32,
    pub(super) reclaimed: u64,
    /// Pages scanned in this round.
    pub(super) scanned: u64,
    pub(super) unclean: u64,
    pub(super) stage: Stage,
}

#[derive(Debug)]
pub(super) enum Stage {
    /// The list of pages.
    List,
    /// Before a shrinker: its file system, and which of the two.
    Shrinker(u8, usize),
    /// In the inode shrinker: its file system, and the objects left to scan.
    Shrinking(u8, u64),
    /// In xfs_reclaim_inodes_ag, and the objects left to scan afterwards.
    Walking(Box<Walk>, u64),
    /// All shrinkers have been called.
    Round,
    /// It pauses, and then reclaim ends.
    Last,
}

impl Reclaim {
    pub(super) fn new(kswapd: bool, enters: bool) -> Box<Reclaim> {
        let stage = Stage::List;
        Box::new(Reclaim { kswapd, enters, priority: PRIORITY, reclaimed: 0, scanned: 0, unclean: 0, stage })
    }
}
