//! The tracepoints that mean a cause.

use crate::blame::cause::Cause;

/// A tracepoint recorded as a span, or one that announces a wait: the name without `_begin`, `_end`, `_start`.
#[derive(Debug)]
pub(in crate::blame) struct Announcement {
    pub(in crate::blame) tracepoint: &'static str,
    pub(in crate::blame) cause: Cause,
    /// As printed.
    pub(in crate::blame) words: &'static str,
    /// A request's completion may end the wait. The request's lifecycle then says more.
    pub(in crate::blame) on_request: bool,
    /// One of these functions is on the stack of the announced wait, because not every announced wait happens. Empty: the
    /// wait always happens.
    pub(in crate::blame) frames: &'static [&'static str],
}

const fn announce(tracepoint: &'static str, cause: Cause, words: &'static str) -> Announcement {
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
    announce("mm_vmscan_direct_reclaim", Cause::DirectReclaim, "direct reclaim"),
    announce("mm_vmscan_memcg_reclaim", Cause::DirectReclaim, "memory cgroup reclaim"),
    announce("mm_vmscan_throttled", Cause::ReclaimThrottle, "reclaim throttling"),
    announce("mm_shrink_slab", Cause::Shrinker, "slab shrinker"),
    announce("mm_compaction", Cause::Compaction, "compaction for a high-order allocation"),
    announce("balance_dirty_pages", Cause::DirtyThrottle, "dirty-page throttling").of(&["balance_dirty_pages*"]),
    announce("folio_wait_writeback", Cause::WritebackWait, "pages under writeback").of(&["folio_wait_*"]).on_request(),
    announce("contention", Cause::Lock, "a lock"),
    announce("jbd2_lock_buffer_stall", Cause::Journal, "buffer held by the journal commit"),
    announce("jbd2_checkpoint", Cause::Journal, "journal checkpoint").of(&["*jbd2_*"]),
    announce("xfs_log_grant_sleep", Cause::FsLog, "XFS log space").of(&["xlog_grant_*"]),
    announce("xfs_log_force", Cause::FsLog, "XFS log force").of(&["xlog_*", "xfs_log_*"]),
    announce("xlog_iclog_wait_on", Cause::FsLog, "XFS log write").of(&["xlog_*", "xfs_log_*"]),
    announce("xfs_log_cil_wait", Cause::FsLog, "XFS log (CIL) push").of(&["xlog_*", "xfs_log_*"]),
    announce("xfs_inodegc_throttle", Cause::FsTransaction, "XFS background inode inactivation").of(&["xfs_inodegc_*"]),
    announce("xfs_buf_lock", Cause::Lock, "XFS metadata buffer lock").of(&["xfs_buf_*"]),
    announce("xfs_buf_iowait", Cause::Device, "XFS metadata buffer I/O").of(&["xfs_buf_*"]).on_request(),
    announce("btrfs_transaction_commit", Cause::FsTransaction, "btrfs transaction commit"),
    announce("btrfs_reserve_ticket", Cause::FsTransaction, "btrfs space reservation"),
    announce("btrfs_tree_read_lock", Cause::Lock, "btrfs tree lock"),
    announce("btrfs_tree_lock", Cause::Lock, "btrfs tree lock"),
];

/// The announcement of that name. A wait names the tracepoint itself, a span the pair.
pub(in crate::blame) fn announcement(tracepoint: &str) -> Option<&'static Announcement> {
    let ends = ["_begin", "_start", "_end"];
    let pair = ends.iter().find_map(|end| tracepoint.strip_suffix(end)).unwrap_or(tracepoint);
    ANNOUNCEMENTS.iter().find(|known| known.tracepoint == pair)
}
