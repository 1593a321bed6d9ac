//! Which functions and tracepoints mean which cause: tables, to be read and extended.
//!
//! The versions are those on which a stack of that kind was seen on a real machine. A rule without any comes from the
//! kernel's sources alone.

use super::cause::Cause;

/// A tracepoint that is told as a span, or that announces a wait: the name without `_begin`, `_end`, `_start`.
#[derive(Debug)]
pub(super) struct Announcement {
    pub(super) tracepoint: &'static str,
    pub(super) cause: Cause,
    /// What the person reads.
    pub(super) words: &'static str,
    /// A request's completion may end it, and then the request's life says more.
    pub(super) on_request: bool,
}

const fn told(tracepoint: &'static str, cause: Cause, words: &'static str) -> Announcement {
    Announcement { tracepoint, cause, words, on_request: false }
}

const fn told_of_io(tracepoint: &'static str, cause: Cause, words: &'static str) -> Announcement {
    Announcement { tracepoint, cause, words, on_request: true }
}

pub(super) const ANNOUNCEMENTS: &[Announcement] = &[
    told("mm_vmscan_direct_reclaim", Cause::DirectReclaim, "freeing memory of the machine"),
    told("mm_vmscan_memcg_reclaim", Cause::DirectReclaim, "freeing memory of its cgroup"),
    told("mm_vmscan_memcg_softlimit_reclaim", Cause::DirectReclaim, "freeing memory above a soft limit"),
    told("mm_vmscan_node_reclaim", Cause::DirectReclaim, "freeing memory of its node"),
    told("mm_vmscan_throttled", Cause::ReclaimThrottle, "paused by reclaim"),
    told("mm_shrink_slab", Cause::Shrinker, "shrinking a cache"),
    told("mm_compaction", Cause::Compaction, "moving pages for a large allocation"),
    told("balance_dirty_pages", Cause::DirtyThrottle, "paused, because too much is dirty"),
    told_of_io("folio_wait_writeback", Cause::WritebackWait, "pages under writeback"),
    told_of_io("wait_on_page_writeback", Cause::WritebackWait, "pages under writeback"),
    told("jbd2_lock_buffer_stall", Cause::Journal, "a buffer that the journal's commit holds"),
    told("jbd2_checkpoint", Cause::Journal, "the journal's checkpoint"),
    told("xfs_log_grant_sleep", Cause::FsLog, "space in the XFS log"),
    told("xfs_log_reserve", Cause::FsLog, "space in the XFS log"),
    told("xfs_log_regrant", Cause::FsLog, "space in the XFS log"),
    told("xfs_log_force", Cause::FsLog, "a force of the XFS log"),
    told("xlog_iclog_wait_on", Cause::FsLog, "a write of the XFS log"),
    told("xfs_log_cil_wait", Cause::FsLog, "a push of the XFS log"),
    told("xfs_inodegc_throttle", Cause::FsTransaction, "XFS's background removal of inodes"),
    told("xfs_inode_reclaiming", Cause::FsTransaction, "an inode that XFS is reclaiming"),
    told("xfs_buf_lock", Cause::Lock, "the lock of an XFS metadata buffer"),
    told_of_io("xfs_buf_iowait", Cause::Device, "I/O of an XFS metadata buffer"),
    told("btrfs_transaction_commit", Cause::FsTransaction, "a commit of btrfs"),
    told("btrfs_reserve_ticket", Cause::FsTransaction, "a reservation of space in btrfs"),
    told("btrfs_flush_space", Cause::FsTransaction, "making space in btrfs"),
    told("btrfs_tree_read_lock", Cause::Lock, "a lock in a tree of btrfs"),
    told("btrfs_tree_lock", Cause::Lock, "a lock in a tree of btrfs"),
    told("contention", Cause::Lock, "a lock"),
];

/// The announcement of that name. A wait names the very tracepoint, a span the pair.
pub(super) fn announcement(tracepoint: &str) -> Option<&'static Announcement> {
    let ends = ["_begin", "_start", "_end"];
    let pair = ends.iter().find_map(|end| tracepoint.strip_suffix(end)).unwrap_or(tracepoint);
    ANNOUNCEMENTS.iter().find(|known| known.tracepoint == pair)
}

/// Stacks that mean a cause.
#[derive(Debug)]
pub(super) struct Rule {
    /// One of these is on the stack; a `*` at the end stands for any rest.
    pub(super) frames: &'static [&'static str],
    /// And, further out, one of these; none means that it does not matter.
    pub(super) under: &'static [&'static str],
    pub(super) cause: Cause,
    /// What the person reads.
    pub(super) words: &'static str,
    /// A request's completion may end it, and then the request's life says more.
    pub(super) on_request: bool,
    /// Kernel versions that it was seen on.
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers of the tables and of docs/BLAME.md"))]
    pub(super) seen_on: &'static [&'static str],
}

/// Rules of equal rank: the one that matches the innermost function wins.
pub(super) type Rank = &'static [Rule];

const fn rule(frames: &'static [&'static str], cause: Cause, words: &'static str) -> Rule {
    Rule { frames, under: &[], cause, words, on_request: false, seen_on: &[] }
}

const fn io(frames: &'static [&'static str], cause: Cause, words: &'static str) -> Rule {
    Rule { frames, under: &[], cause, words, on_request: true, seen_on: &[] }
}

impl Rule {
    const fn under(self, under: &'static [&'static str]) -> Rule {
        Rule { under, ..self }
    }

    /// Whether it matches the function at that place of a stack.
    pub(super) fn matches(&self, frames: &[&str], at: usize) -> bool {
        let is = |frame: &str, patterns: &[&str]| patterns.iter().any(|pattern| fits(pattern, frame));
        is(frames[at], self.frames)
            && (self.under.is_empty() || frames[at + 1..].iter().any(|frame| is(frame, self.under)))
    }
}

fn fits(pattern: &str, frame: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(begin) => frame.starts_with(begin),
        None => frame == pattern,
    }
}

/// The first rank that has a rule for the stack decides.
pub(super) const RANKS: &[Rank] = &[MEMORY, FAULTS, MECHANISMS, LOCKS, IO];

/// Memory was short: whatever it waited for there, it waited to get memory.
const MEMORY: Rank = &[
    rule(&["reclaim_throttle", "throttle_direct_reclaim"], Cause::ReclaimThrottle, "paused by reclaim"),
    rule(&["do_shrink_slab", "shrink_slab*", "super_cache_scan"], Cause::Shrinker, "shrinking a cache"),
    rule(&["try_to_compact_pages", "compact_zone*"], Cause::Compaction, "moving pages for a large allocation"),
    rule(&["shrink_node*", "shrink_lruvec", "try_to_free_*"], Cause::DirectReclaim, "freeing memory"),
];

/// A page fault that reads.
const FAULTS: Rank = &[
    rule(&["swap_read_folio*", "swap_readpage*", "do_swap_page", "swapin_readahead"], Cause::Swap, "a page from swap"),
    rule(&["filemap_fault", "__do_fault"], Cause::PageFault, "a page of a mapped file"),
];

const WRITE_PATHS: &[&str] = &[
    "vfs_*",
    "ksys_*",
    "do_writev",
    "mnt_want_write*",
    "file_start_write*",
    "sb_start_*",
    "path_openat",
    "do_sys_open*",
    "filename_create",
    "do_unlinkat",
    "do_rmdir",
    "do_mkdirat",
    "do_renameat2",
    "do_filp_open",
    "io_write",
    "aio_write",
    "ext4_*",
    "xfs_*",
    "btrfs_*",
    "f2fs_*",
    "touch_atime",
    "file_update_time*",
    "do_page_mkwrite",
    "do_sys_ftruncate",
];

/// What only one subsystem does: names itself, and is not ended by a request of the waiting task.
const MECHANISMS: Rank = &[
    rule(&["balance_dirty_pages*"], Cause::DirtyThrottle, "paused, because too much is dirty"),
    rule(&["percpu_rwsem_wait", "__percpu_down_read"], Cause::Frozen, "the file system to be thawed")
        .under(WRITE_PATHS),
    rule(&["freeze_super", "thaw_super*"], Cause::Frozen, "freezing a file system"),
    rule(&["jbd2_log_wait_commit", "jbd2_complete_transaction"], Cause::Journal, "the journal's commit"),
    rule(&["wait_transaction_locked"], Cause::Journal, "the journal's running commit to let new work in"),
    rule(&["add_transaction_credits", "start_this_handle"], Cause::Journal, "room in the journal's transaction"),
    rule(&["do_get_write_access"], Cause::Journal, "a metadata block that the journal is writing"),
    rule(&["__jbd2_log_wait_for_space", "jbd2_log_do_checkpoint"], Cause::Journal, "space in the journal"),
    rule(&["jbd2_journal_lock_updates", "jbd2_journal_flush"], Cause::Journal, "the journal to be empty"),
    rule(&["jbd2_*"], Cause::Journal, "the journal"),
    rule(&["xlog_grant_head_wait", "xlog_grant_head_check"], Cause::FsLog, "space in the XFS log"),
    rule(&["xlog_wait_on_iclog", "xlog_state_get_iclog_space"], Cause::FsLog, "a write of the XFS log"),
    rule(&["xlog_wait_on_iclog_lsn", "xlog_cil_force_seq", "xlog_cil_push_*"], Cause::FsLog, "a push of the XFS log"),
    rule(&["xfs_log_force*"], Cause::FsLog, "a force of the XFS log"),
    rule(&["xfs_inodegc_*"], Cause::FsTransaction, "XFS's background removal of inodes"),
    rule(&["xfs_ail_push*"], Cause::FsLog, "XFS to write back metadata"),
    rule(&["xfs_buf_lock"], Cause::Lock, "the lock of an XFS metadata buffer"),
    rule(&["wait_current_trans", "btrfs_wait_for_commit"], Cause::FsTransaction, "the running commit of btrfs"),
    rule(&["btrfs_commit_transaction*", "wait_for_commit"], Cause::FsTransaction, "a commit of btrfs"),
    rule(&["handle_reserve_ticket", "btrfs_reserve_metadata_bytes"], Cause::FsTransaction, "a reservation in btrfs"),
    rule(&["btrfs_sync_log", "wait_log_commit", "btrfs_log_inode*"], Cause::FsTransaction, "the log tree of btrfs"),
    rule(&["blk_mq_get_tag", "rq_qos_wait", "wbt_wait"], Cause::RequestWait, "a free request"),
    rule(&["blk_queue_enter", "__bio_queue_enter"], Cause::RequestWait, "a queue that takes nothing in"),
    rule(&["rpc_wait_bit_killable", "nfs_wait_*", "nfs4_*", "cifs_*", "ceph_*"], Cause::NetworkFs, "a server"),
    rule(&["request_wait_answer", "fuse_*"], Cause::NetworkFs, "the program that serves the file system"),
];

const LOCKS: Rank = &[
    rule(&["mutex_lock*", "__mutex_lock*"], Cause::Lock, "a mutex"),
    rule(&["rwsem_down_write_slowpath", "down_write*"], Cause::Lock, "a lock, to write"),
    rule(&["rwsem_down_read_slowpath", "down_read*"], Cause::Lock, "a lock, to read"),
    rule(&["__down*", "down", "down_*"], Cause::Lock, "a semaphore"),
    rule(&["btrfs_tree_lock*", "btrfs_tree_read_lock*"], Cause::Lock, "a lock in a tree of btrfs"),
    rule(&["percpu_rwsem_wait", "percpu_down_write"], Cause::Lock, "a lock"),
    rule(&["rt_mutex_*", "rtmutex_*"], Cause::Lock, "a mutex"),
    rule(&["__wait_on_freeing_inode", "inode_wait_for_*", "wait_on_inode"], Cause::Lock, "an inode in use"),
    rule(&["futex_*", "do_futex"], Cause::Lock, "another thread"),
];

/// What a request's completion ends, now or in the end.
const IO: Rank = &[
    io(&["io_cqring_wait", "read_events", "wait_for_one_ioctx*"], Cause::IoWorker, "completions of asynchronous I/O"),
    io(
        &["folio_wait_writeback*", "wait_on_page_writeback*", "__filemap_fdatawait_range"],
        Cause::WritebackWait,
        "pages under writeback",
    ),
    io(&["folio_wait_bit_common", "__folio_lock*", "folio_wait_locked*"], Cause::Device, "pages to be read"),
    io(&["submit_bio_wait", "blkdev_issue_flush", "blk_execute_rq"], Cause::Device, "I/O of its own"),
    io(&["__iomap_dio_rw", "iomap_dio_*", "blkdev_direct_IO*", "__blkdev_direct_IO*"], Cause::Device, "direct I/O"),
    io(&["__wait_on_buffer", "wait_on_buffer", "bh_uptodate_or_lock*"], Cause::Device, "a metadata block"),
    io(&["xfs_buf_iowait"], Cause::Device, "I/O of an XFS metadata buffer"),
    io(&["io_schedule*", "blk_io_schedule"], Cause::Device, "I/O"),
];
