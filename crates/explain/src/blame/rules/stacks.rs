//! The stack rules. The versions are those on which a stack that the rule decides was seen on a real machine; a rule
//! without any comes from the kernel's sources alone.

use super::stack_rule::{Rank, Rule};
use crate::blame::cause::Cause;

const fn rule(frames: &'static [&'static str], cause: Cause, words: &'static str) -> Rule {
    Rule { frames, callers: &[], innermost: false, cause, words, on_request: false, seen_on: &[] }
}

const fn io(frames: &'static [&'static str], cause: Cause, words: &'static str) -> Rule {
    Rule { on_request: true, ..rule(frames, cause, words) }
}

const fn innermost(frames: &'static [&'static str], cause: Cause, words: &'static str) -> Rule {
    Rule { innermost: true, ..rule(frames, cause, words) }
}

impl Rule {
    const fn called_by(self, callers: &'static [&'static str]) -> Rule {
        Rule { callers, ..self }
    }

    const fn seen_on(self, seen_on: &'static [&'static str]) -> Rule {
        Rule { seen_on, ..self }
    }
}

const ON_6_18: &[&str] = &["6.18"];

/// The first rank that has a rule for the stack decides.
pub(in crate::blame) const RANKS: &[Rank] = &[MEMORY, FAULTS, MECHANISMS, LOCKS, WRITEBACK, IO];

/// Memory was short: whatever it waited for there, it waited to get memory.
const MEMORY: Rank = &[
    rule(&["reclaim_throttle", "throttle_direct_reclaim"], Cause::ReclaimThrottle, "paused by reclaim")
        .seen_on(ON_6_18),
    rule(&["do_shrink_slab", "shrink_slab*", "super_cache_scan"], Cause::Shrinker, "shrinking a cache"),
    rule(&["try_to_compact_pages", "compact_zone*"], Cause::Compaction, "moving pages for a large allocation"),
    rule(&["shrink_node*", "shrink_lruvec", "try_to_free_*"], Cause::DirectReclaim, "freeing memory").seen_on(ON_6_18),
];

/// A page fault that reads.
const FAULTS: Rank = &[
    rule(&["do_swap_page", "swap_read_folio*", "swapin_readahead"], Cause::Swap, "a page from swap"),
    rule(&["filemap_fault", "__do_fault"], Cause::PageFault, "a page of a mapped file").seen_on(ON_6_18),
];

/// Who calls `sb_start_write` and its like, all of them inlined.
const WRITERS: &[&str] = &[
    "mnt_want_write*",
    "vfs_*",
    "do_iter_readv_writev",
    "do_writev",
    "do_splice_*",
    "iter_file_splice_write",
    "io_write",
    "aio_write",
    "ext4_*",
    "__ext4_*",
    "xfs_*",
    "__xfs_*",
    "btrfs_*",
    "start_transaction",
    "filemap_page_mkwrite",
    "do_page_mkwrite",
    "iomap_page_mkwrite",
    "loop_*",
    "ovl_*",
];

/// What only one subsystem does, and no request of the waiting task ends.
const MECHANISMS: Rank = &[
    rule(&["balance_dirty_pages*"], Cause::DirtyThrottle, "paused, because too much is dirty").seen_on(ON_6_18),
    rule(&["bwillwrite"], Cause::DirtyThrottle, "fewer dirty buffers (FreeBSD)"),
    rule(&["waitrunningbufspace"], Cause::DirtyThrottle, "writes under way to be done (FreeBSD)"),
    rule(&["getnewbuf"], Cause::DirtyThrottle, "space for a buffer, all of it dirty (FreeBSD)"),
    rule(&["percpu_rwsem_wait"], Cause::Frozen, "the file system to be thawed").called_by(WRITERS).seen_on(ON_6_18),
    innermost(&["mnt_want_write*", "vfs_write", "do_iter_readv_writev"], Cause::Frozen, "the file system to be thawed"),
    rule(&["freeze_super"], Cause::Frozen, "a file system to be quiet enough to freeze").seen_on(ON_6_18),
    rule(&["jbd2_log_wait_commit", "jbd2_complete_transaction"], Cause::Journal, "the journal's commit")
        .seen_on(ON_6_18),
    rule(
        &["wait_transaction_locked", "wait_transaction_switching"],
        Cause::Journal,
        "the journal's commit to let work in",
    )
    .seen_on(ON_6_18),
    rule(&["__jbd2_log_wait_for_space", "jbd2_log_do_checkpoint"], Cause::Journal, "space in the journal")
        .seen_on(ON_6_18),
    rule(&["add_transaction_credits", "start_this_handle"], Cause::Journal, "room in the journal's transaction")
        .seen_on(ON_6_18),
    rule(&["do_get_write_access"], Cause::Journal, "a metadata block that the journal is writing").seen_on(ON_6_18),
    rule(&["jbd2_journal_wait_updates"], Cause::Journal, "the journal's users to end theirs").seen_on(ON_6_18),
    rule(&["jbd2_journal_lock_updates", "jbd2_journal_flush"], Cause::Journal, "the journal to be empty"),
    rule(&["jbd2_fc_*", "ext4_fc_*"], Cause::Journal, "a fast commit of the journal"),
    rule(&["xlog_grant_head_wait", "xlog_grant_head_check"], Cause::FsLog, "space in the XFS log").seen_on(ON_6_18),
    rule(
        &["xlog_cil_force_seq", "xlog_cil_push_now", "xlog_cil_commit", "xlog_cil_order_write"],
        Cause::FsLog,
        "a push of the XFS log",
    )
    .seen_on(ON_6_18),
    rule(&["xlog_wait_on_iclog*", "xlog_state_get_iclog_space"], Cause::FsLog, "a write of the XFS log")
        .seen_on(ON_6_18),
    rule(&["xfs_log_force*", "xfs_ail_push*"], Cause::FsLog, "a force of the XFS log").seen_on(ON_6_18),
    rule(
        &["xfs_inodegc_flush", "xfs_inodegc_push", "xfs_inodegc_queue", "xfs_inodegc_wait_all"],
        Cause::FsTransaction,
        "XFS's background removal of inodes",
    ),
    rule(&["xfs_buf_lock"], Cause::Lock, "the lock of an XFS metadata buffer").seen_on(ON_6_18),
    rule(&["btrfs_wait_for_commit", "wait_current_trans"], Cause::FsTransaction, "the running commit of btrfs")
        .seen_on(ON_6_18),
    rule(&["btrfs_commit_transaction*", "wait_for_commit"], Cause::FsTransaction, "a commit of btrfs").seen_on(ON_6_18),
    rule(&["btrfs_sync_log", "wait_log_commit"], Cause::FsTransaction, "the log tree of btrfs").seen_on(ON_6_18),
    rule(&["handle_reserve_ticket", "__reserve_bytes"], Cause::FsTransaction, "a reservation of space in btrfs")
        .seen_on(ON_6_18),
    rule(&["btrfs_tree_lock*", "btrfs_tree_read_lock*"], Cause::Lock, "a lock in a tree of btrfs").seen_on(ON_6_18),
    rule(
        &["inode_wait_for_writeback", "inode_sleep_on_writeback"],
        Cause::WritebackWait,
        "an inode that is being written",
    )
    .seen_on(ON_6_18),
    rule(&["wb_wait_for_completion"], Cause::WritebackWait, "the flusher to write what is dirty").seen_on(ON_6_18),
    rule(&["blk_mq_get_tag", "rq_qos_wait", "wbt_wait"], Cause::RequestWait, "a free request").seen_on(ON_6_18),
    rule(&["blk_queue_enter", "__bio_queue_enter"], Cause::RequestWait, "a queue that takes nothing in"),
    rule(&["blk_mq_freeze_queue_wait"], Cause::RequestWait, "a queue to be empty").seen_on(ON_6_18),
    rule(&["rpc_wait_bit_killable", "nfs_*", "nfs4_*", "cifs_*", "smb2_*", "ceph_*"], Cause::NetworkFs, "a server"),
    rule(&["osc_enter_cache"], Cause::DirtyThrottle, "grant from a Lustre target, or room for dirty pages"),
    rule(&["ldlm_completion_ast"], Cause::Lock, "a lock that another Lustre client may have"),
    rule(&["osc_extent_wait", "cl_sync_io_wait", "ptlrpc_*"], Cause::NetworkFs, "a Lustre server"),
    rule(&["request_wait_answer", "fuse_*"], Cause::NetworkFs, "the program that serves the file system"),
];

/// Locks. The functions that sleep in them are left out of stacks, so their callers stand here; where the tracer runs,
/// the kernel announces these waits itself.
const LOCKS: Rank = &[
    innermost(
        &["xfs_ilock", "btrfs_inode_lock", "ext4_buffered_write_iter", "ext4_dio_write_iter", "ext4_file_*"],
        Cause::Lock,
        "the lock of a file",
    )
    .seen_on(ON_6_18),
    innermost(
        &[
            "path_openat",
            "open_last_lookups",
            "lookup_slow",
            "walk_component",
            "filename_create",
            "do_unlinkat",
            "do_rmdir",
            "lock_rename",
            "iterate_dir",
        ],
        Cause::Lock,
        "the lock of a directory",
    )
    .seen_on(ON_6_18),
    innermost(
        &["do_user_addr_fault", "lock_mm_and_find_vma", "vm_mmap_pgoff", "__vm_munmap", "__vma_start_write"],
        Cause::Lock,
        "the lock of the address space",
    )
    .seen_on(ON_6_18),
    innermost(&["__do_page_fault"], Cause::Lock, "the lock of the address space"),
    innermost(&["xfs_iget"], Cause::Lock, "an inode that is being reclaimed"),
    innermost(&["fdget_pos", "__fdget_pos"], Cause::Lock, "the position of an open file"),
    rule(&["percpu_rwsem_wait"], Cause::Lock, "a lock of the whole machine"),
    innermost(&["d_alloc_parallel"], Cause::Lock, "another task's look-up of the same name"),
    innermost(&["sync_inodes_sb"], Cause::Lock, "another sync of the same file system").seen_on(ON_6_18),
    rule(&["__wait_on_freeing_inode"], Cause::Lock, "an inode in use"),
    rule(&["futex_*", "do_futex"], Cause::Lock, "another thread").seen_on(ON_6_18),
    rule(&["_vn_lock"], Cause::Lock, "the lock of a file (FreeBSD)"),
    // It rests there when the vnodes of all that it might flush are locked.
    rule(&["buf_daemon"], Cause::Lock, "files whose dirty buffers it could flush to be unlocked (FreeBSD)"),
    rule(&["_mtx_lock_sleep"], Cause::Lock, "a mutex (FreeBSD)"),
];

/// Pages that are to be written, whether or not somebody has begun.
const WRITEBACK: Rank = &[
    io(&["folio_wait_writeback*", "__filemap_fdatawait_range"], Cause::WritebackWait, "pages under writeback")
        .seen_on(ON_6_18),
    io(
        &["btrfs_wait_ordered_*", "btrfs_start_ordered_extent*"],
        Cause::WritebackWait,
        "data of btrfs that is being written",
    )
    .seen_on(ON_6_18),
];

/// What a request's completion ends, now or in the end.
const IO: Rank = &[
    io(&["io_cqring_wait", "read_events"], Cause::IoWorker, "completions of asynchronous I/O").seen_on(ON_6_18),
    io(&["folio_wait_bit_common", "__folio_lock*"], Cause::Device, "pages to be read").seen_on(ON_6_18),
    io(&["__lock_page_killable"], Cause::Device, "pages to be read"),
    io(&["submit_bio_wait", "blkdev_issue_*", "blk_execute_rq"], Cause::Device, "I/O of its own").seen_on(ON_6_18),
    io(&["__iomap_dio_rw", "iomap_dio_*", "blkdev_direct_IO*", "__blkdev_direct_IO*"], Cause::Device, "direct I/O")
        .seen_on(ON_6_18),
    io(
        &[
            "__wait_on_buffer",
            "wait_on_buffer",
            "ext4_read_bh*",
            "__ext4_find_entry",
            "__ext4_get_inode_loc*",
            "__sync_dirty_buffer",
            "ext4_wait_block_bitmap",
        ],
        Cause::Device,
        "a metadata block",
    )
    .seen_on(ON_6_18),
    io(&["xfs_buf_iowait", "read_extent_buffer_pages*"], Cause::Device, "a metadata block").seen_on(ON_6_18),
    io(&["blk_io_schedule"], Cause::Device, "I/O"),
    io(&["bufwait", "getblk"], Cause::Device, "a block (FreeBSD)"),
];
