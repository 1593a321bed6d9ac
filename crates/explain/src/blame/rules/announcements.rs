//! The tracepoints that mean a cause.

use crate::blame::cause::Cause;

/// A tracepoint that is told as a span, or that announces a wait: the name without `_begin`, `_end`, `_start`.
#[derive(Debug)]
pub(in crate::blame) struct Announcement {
    pub(in crate::blame) tracepoint: &'static str,
    pub(in crate::blame) cause: Cause,
    /// What the person reads.
    pub(in crate::blame) words: &'static str,
    /// A request's completion may end it, and then the request's life says more.
    pub(in crate::blame) on_request: bool,
    /// One of these is on the stack of the wait that was announced: not every announced wait comes. None: it surely
    /// comes.
    pub(in crate::blame) frames: &'static [&'static str],
}

const fn told(tracepoint: &'static str, cause: Cause, words: &'static str) -> Announcement {
    Announcement { tracepoint, cause, words, on_request: false, frames: &[] }
}

impl Announcement {
    const fn of(self, frames: &'static [&'static str]) -> Announcement {
        Announcement { frames, ..self }
    }

    const fn on_request(self) -> Announcement {
        Announcement { on_request: true, ..self }
    }
}

pub(in crate::blame) const ANNOUNCEMENTS: &[Announcement] = &[
    told("mm_vmscan_direct_reclaim", Cause::DirectReclaim, "freeing memory of the machine"),
    told("mm_vmscan_memcg_reclaim", Cause::DirectReclaim, "freeing memory of its cgroup"),
    told("mm_vmscan_throttled", Cause::ReclaimThrottle, "paused by reclaim"),
    told("mm_shrink_slab", Cause::Shrinker, "shrinking a cache"),
    told("mm_compaction", Cause::Compaction, "moving pages for a large allocation"),
    told("balance_dirty_pages", Cause::DirtyThrottle, "paused, because too much is dirty")
        .of(&["balance_dirty_pages*"]),
    told("folio_wait_writeback", Cause::WritebackWait, "pages under writeback").of(&["folio_wait_*"]).on_request(),
    told("contention", Cause::Lock, "a lock"),
    told("jbd2_lock_buffer_stall", Cause::Journal, "a buffer that the journal's commit holds"),
    told("jbd2_checkpoint", Cause::Journal, "the journal's checkpoint").of(&["*jbd2_*"]),
    told("xfs_log_grant_sleep", Cause::FsLog, "space in the XFS log").of(&["xlog_grant_*"]),
    told("xfs_log_force", Cause::FsLog, "a force of the XFS log").of(&["xlog_*", "xfs_log_*"]),
    told("xlog_iclog_wait_on", Cause::FsLog, "a write of the XFS log").of(&["xlog_*", "xfs_log_*"]),
    told("xfs_log_cil_wait", Cause::FsLog, "a push of the XFS log").of(&["xlog_*", "xfs_log_*"]),
    told("xfs_inodegc_throttle", Cause::FsTransaction, "XFS's background removal of inodes").of(&["xfs_inodegc_*"]),
    told("xfs_buf_lock", Cause::Lock, "the lock of an XFS metadata buffer").of(&["xfs_buf_*"]),
    told("xfs_buf_iowait", Cause::Device, "I/O of an XFS metadata buffer").of(&["xfs_buf_*"]).on_request(),
    told("btrfs_transaction_commit", Cause::FsTransaction, "a commit of btrfs"),
    told("btrfs_reserve_ticket", Cause::FsTransaction, "a reservation of space in btrfs"),
    told("btrfs_tree_read_lock", Cause::Lock, "a lock in a tree of btrfs"),
    told("btrfs_tree_lock", Cause::Lock, "a lock in a tree of btrfs"),
];

/// The announcement of that name. A wait names the very tracepoint, a span the pair.
pub(in crate::blame) fn announcement(tracepoint: &str) -> Option<&'static Announcement> {
    let ends = ["_begin", "_start", "_end"];
    let pair = ends.iter().find_map(|end| tracepoint.strip_suffix(end)).unwrap_or(tracepoint);
    ANNOUNCEMENTS.iter().find(|known| known.tracepoint == pair)
}
