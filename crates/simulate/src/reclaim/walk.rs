//! A call of xfs_reclaim_inodes_ag.

/// A walk over the allocation groups of a file system.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) fs: u8,
    pub(super) began_ns: u64,
    /// SYNC_WAIT: it waits for inodes that are not clean, and for groups that other reclaimers hold.
    pub(super) wait: bool,
    /// The first pass skips groups that other reclaimers hold.
    pub(super) trying: bool,
    pub(super) skipped: u32,
    pub(super) to_scan: i64,
    pub(super) group: usize,
    pub(super) index: u32,
    pub(super) held: bool,
    pub(super) batch: Vec<u32>,
    pub(super) at: usize,
    /// CPU time used and not yet simulated.
    pub(super) owed_ns: u64,
    /// Inodes that it freed.
    pub(super) freed: u64,
    /// Inodes that it skipped because they are not clean.
    pub(super) left: u64,
}

impl Walk {
    pub(super) fn new(fs: u8, now_ns: u64, wait: bool, to_scan: i64) -> Box<Walk> {
        Box::new(Walk {
            fs,
            began_ns: now_ns,
            wait,
            trying: true,
            skipped: 0,
            to_scan,
            group: 0,
            index: 0,
            held: false,
            batch: Vec::new(),
            at: 0,
            owed_ns: 0,
            freed: 0,
            left: 0,
        })
    }
}
