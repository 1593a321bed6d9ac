//! The stack rules. The versions are those on which a real machine recorded a stack that the rule decides. A rule
//! without a version comes from the kernel's sources alone.

use super::stack_rule::{Rank, Rule};
use crate::blame::cause::Cause;
use crate::waits::{BY_DEBUGGER, BY_SIGNAL, FROZEN};

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

/// The first rank with a rule for the stack decides.
pub(in crate::blame) const RANKS: &[Rank] = &[MEMORY, SWAP, MECHANISMS, LOCKS, WRITEBACK, FAULTS, IO, PEERS];

/// A cgroup has more memory than its limit that throttles.
pub(in crate::blame) const ABOVE_MEMORY_HIGH: &str = "throttled above memory.high of its cgroup";

/// Memory was short: any wait in these functions is a wait for memory.
const MEMORY: Rank = &[
    rule(
        &["mem_cgroup_oom_synchronize", "mem_cgroup_oom", "pagefault_out_of_memory"],
        Cause::OutOfMemory,
        "room in its memory cgroup, without the OOM killer",
    )
    .seen_on(ON_6_18),
    rule(&["reclaim_throttle", "throttle_direct_reclaim"], Cause::ReclaimThrottle, "reclaim throttling")
        .seen_on(ON_6_18),
    rule(&["mem_cgroup_handle_over_high", "__mem_cgroup_handle_over_high"], Cause::ReclaimThrottle, ABOVE_MEMORY_HIGH),
    rule(&["do_shrink_slab", "shrink_slab*", "super_cache_scan"], Cause::Shrinker, "slab shrinker"),
    rule(&["try_to_compact_pages", "compact_zone*"], Cause::Compaction, "compaction for a high-order allocation"),
    rule(&["shrink_node*", "shrink_lruvec", "try_to_free_*"], Cause::DirectReclaim, "direct reclaim").seen_on(ON_6_18),
];

/// A page fault that reads from swap, whatever that read waits for.
const SWAP: Rank = &[rule(
    &["do_swap_page", "shmem_swapin*", "swap_read_folio*", "swapin_*", "swap_cluster_readahead", "swap_vma_readahead"],
    Cause::Swap,
    "page from swap",
)];

/// `sb_start_write` and similar functions are inlined into these; before 5.12 or so they called one function.
const WRITERS: &[&str] = &[
    "__sb_start_write",
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
    "lo_*",
    "ovl_*",
];

/// Waits within one subsystem that no request of the waiting task ends.
const MECHANISMS: Rank = &[
    rule(&["__refrigerator", "do_freezer_trap"], Cause::Stopped, FROZEN).seen_on(ON_6_18),
    rule(&["ptrace_stop"], Cause::Stopped, BY_DEBUGGER),
    rule(&["do_signal_stop"], Cause::Stopped, BY_SIGNAL).seen_on(ON_6_18),
    rule(&["balance_dirty_pages*"], Cause::DirtyThrottle, "dirty-page throttling").seen_on(ON_6_18),
    rule(&["bwillwrite"], Cause::DirtyThrottle, "too many dirty buffers (FreeBSD)"),
    rule(&["waitrunningbufspace"], Cause::DirtyThrottle, "buffer writes in flight (FreeBSD)"),
    rule(&["getnewbuf"], Cause::DirtyThrottle, "buffer space, all of it dirty (FreeBSD)"),
    // The second is among the functions that stacks omit since 5.18 or so.
    rule(&["percpu_rwsem_wait", "__percpu_down_read"], Cause::Frozen, "thaw of the file system")
        .called_by(WRITERS)
        .seen_on(ON_6_18),
    innermost(&["mnt_want_write*", "vfs_write", "do_iter_readv_writev"], Cause::Frozen, "thaw of the file system"),
    rule(&["freeze_super"], Cause::Frozen, "writers to drain before a freeze").seen_on(ON_6_18),
    rule(&["jbd2_log_wait_commit", "jbd2_complete_transaction"], Cause::Journal, "journal commit").seen_on(ON_6_18),
    rule(
        &["wait_transaction_locked", "wait_transaction_switching"],
        Cause::Journal,
        "transaction locked by the journal commit",
    )
    .seen_on(ON_6_18),
    rule(&["__jbd2_log_wait_for_space", "jbd2_log_do_checkpoint"], Cause::Journal, "journal space").seen_on(ON_6_18),
    rule(&["add_transaction_credits", "start_this_handle"], Cause::Journal, "room in the journal transaction")
        .seen_on(ON_6_18),
    rule(&["do_get_write_access"], Cause::Journal, "metadata block under journal write").seen_on(ON_6_18),
    rule(&["jbd2_journal_wait_updates"], Cause::Journal, "open journal handles").seen_on(ON_6_18),
    rule(&["jbd2_journal_lock_updates", "jbd2_journal_flush"], Cause::Journal, "journal flush"),
    rule(&["jbd2_fc_*", "ext4_fc_*"], Cause::Journal, "journal fast commit"),
    rule(&["xlog_grant_head_wait", "xlog_grant_head_check"], Cause::FsLog, "XFS log space").seen_on(ON_6_18),
    rule(
        &["xlog_cil_force_seq", "xlog_cil_push_now", "xlog_cil_commit", "xlog_cil_order_write"],
        Cause::FsLog,
        "XFS log (CIL) push",
    )
    .seen_on(ON_6_18),
    rule(&["xlog_wait_on_iclog*", "xlog_state_get_iclog_space"], Cause::FsLog, "XFS log write").seen_on(ON_6_18),
    rule(&["xfs_log_force*", "xfs_ail_push*"], Cause::FsLog, "XFS log force").seen_on(ON_6_18),
    rule(
        &["xfs_inodegc_flush", "xfs_inodegc_push", "xfs_inodegc_queue", "xfs_inodegc_wait_all"],
        Cause::FsTransaction,
        "XFS background inode inactivation",
    ),
    rule(&["xfs_buf_lock"], Cause::Lock, "XFS metadata buffer lock").seen_on(ON_6_18),
    rule(&["btrfs_wait_for_commit", "wait_current_trans"], Cause::FsTransaction, "running btrfs transaction commit")
        .seen_on(ON_6_18),
    rule(&["btrfs_commit_transaction*", "wait_for_commit"], Cause::FsTransaction, "btrfs transaction commit")
        .seen_on(ON_6_18),
    rule(&["btrfs_sync_log", "wait_log_commit"], Cause::FsTransaction, "btrfs log tree").seen_on(ON_6_18),
    rule(&["handle_reserve_ticket", "__reserve_bytes"], Cause::FsTransaction, "btrfs space reservation")
        .seen_on(ON_6_18),
    rule(&["btrfs_tree_lock*", "btrfs_tree_read_lock*"], Cause::Lock, "btrfs tree lock").seen_on(ON_6_18),
    rule(&["inode_wait_for_writeback", "inode_sleep_on_writeback"], Cause::WritebackWait, "inode under writeback")
        .seen_on(ON_6_18),
    rule(&["wb_wait_for_completion"], Cause::WritebackWait, "the flusher to write dirty pages").seen_on(ON_6_18),
    rule(&["rq_qos_wait", "__wbt_wait"], Cause::RequestWait, "block writeback throttling (wbt)")
        .called_by(&["wbt_wait"]),
    rule(&["wbt_wait"], Cause::RequestWait, "block writeback throttling (wbt)"),
    rule(&["rq_qos_wait"], Cause::IoThrottle, "io.latency of its cgroup").called_by(&["blkcg_iolatency_throttle"]),
    rule(&["blkcg_iolatency_throttle", "blkcg_maybe_throttle_*"], Cause::IoThrottle, "io.latency of its cgroup"),
    rule(&["ioc_rqos_throttle"], Cause::IoThrottle, "io.cost of its cgroup"),
    rule(&["blk_mq_get_tag", "rq_qos_wait"], Cause::RequestWait, "request (tag)").seen_on(ON_6_18),
    rule(&["blk_queue_enter", "__bio_queue_enter"], Cause::RequestWait, "frozen request queue"),
    rule(&["blk_mq_freeze_queue_wait"], Cause::RequestWait, "request queue to drain").seen_on(ON_6_18),
    // The server has refused the lock; the call itself is a wait further within.
    rule(
        &["nfs4_retry_setlk*", "nfs4_proc_lock", "nlmclnt_block", "nlmclnt_wait"],
        Cause::Lock,
        "NFS lock, possibly held by another client",
    ),
    rule(&["rpc_wait_bit_killable", "nfs_*", "nfs4_*", "cifs_*", "smb2_*", "ceph_*"], Cause::NetworkFs, "server"),
    rule(&["osc_enter_cache"], Cause::DirtyThrottle, "Lustre grant, or room for dirty pages"),
    rule(&["ldlm_completion_ast"], Cause::Lock, "Lustre lock, possibly held by another client"),
    rule(&["osc_extent_wait", "cl_sync_io_wait", "ptlrpc_*"], Cause::NetworkFs, "Lustre server"),
    rule(&["fanotify_get_response", "fanotify_handle_event"], Cause::Fanotify, "answer of a fanotify listener")
        .seen_on(ON_6_18),
    rule(&["request_wait_answer", "fuse_*"], Cause::NetworkFs, "FUSE server").seen_on(ON_6_18),
];

/// Locks. Stacks omit the functions that sleep on them, so their callers are listed. With the tracer, the kernel
/// announces these waits itself.
const LOCKS: Rank = &[
    innermost(
        &["xfs_ilock", "btrfs_inode_lock", "ext4_buffered_write_iter", "ext4_dio_write_iter", "ext4_file_*"],
        Cause::Lock,
        "inode lock of a file",
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
        "inode lock of a directory",
    )
    .seen_on(ON_6_18),
    innermost(
        &["do_user_addr_fault", "lock_mm_and_find_vma", "vm_mmap_pgoff", "__vm_munmap", "__vma_start_write"],
        Cause::Lock,
        "mmap lock",
    )
    .seen_on(ON_6_18),
    innermost(&["__do_page_fault"], Cause::Lock, "mmap lock"),
    innermost(&["xfs_iget"], Cause::Lock, "inode under reclaim"),
    innermost(&["fdget_pos", "__fdget_pos"], Cause::Lock, "file position lock"),
    rule(&["percpu_rwsem_wait"], Cause::Lock, "system-wide lock"),
    innermost(&["d_alloc_parallel"], Cause::Lock, "lookup of the same name by another task"),
    innermost(&["sync_inodes_sb"], Cause::Lock, "another sync of the same file system").seen_on(ON_6_18),
    // Closing what was traced, mounts: until every CPU has left the code that may still use it.
    rule(&["synchronize_rcu*", "synchronize_srcu*", "rcu_barrier*", "__wait_rcu_gp"], Cause::Lock, "RCU grace period")
        .seen_on(ON_6_18),
    rule(&["__wait_on_freeing_inode"], Cause::Lock, "inode being freed"),
    rule(&["flock_lock_inode_wait", "locks_lock_inode_wait", "__do_sys_flock"], Cause::Lock, "file lock (flock)"),
    rule(&["do_lock_file_wait", "fcntl_setlk", "posix_lock_inode_wait"], Cause::Lock, "file lock (fcntl)"),
    rule(&["__break_lease"], Cause::Lock, "file lease"),
    rule(&["futex_*", "do_futex"], Cause::Lock, "another thread").seen_on(ON_6_18),
    rule(&["_vn_lock"], Cause::Lock, "vnode lock (FreeBSD)"),
    // It sleeps here when the vnodes of all buffers that it could flush are locked.
    rule(&["buf_daemon"], Cause::Lock, "vnode locks of files with dirty buffers (FreeBSD)"),
    rule(&["_mtx_lock_sleep"], Cause::Lock, "mutex (FreeBSD)"),
];

/// What waits for the end of writes of a file's pages.
pub(in crate::blame) const PAGES_UNDER_WRITEBACK: &str = "pages under writeback";

/// Pages to be written, whether or not writeback has started.
const WRITEBACK: Rank = &[
    io(&["folio_wait_writeback*", "__filemap_fdatawait_range"], Cause::WritebackWait, PAGES_UNDER_WRITEBACK)
        .seen_on(ON_6_18),
    io(
        &["btrfs_wait_ordered_*", "btrfs_start_ordered_extent*"],
        Cause::WritebackWait,
        "btrfs ordered data under writeback",
    )
    .seen_on(ON_6_18),
    // A page that is read is no dirty page.
    rule(&["__folio_lock"], Cause::WritebackWait, "dirty page locked by another writer")
        .called_by(&["mpage_prepare_extent_to_map", "write_cache_pages", "writeback_iter", "writeback_get_folio"])
        .seen_on(ON_6_18),
];

/// A page fault that reads a file. What it waits for decides, where that is known: it is a read like any other.
const FAULTS: Rank =
    &[io(&["filemap_fault", "__do_fault"], Cause::PageFault, "page of a mapped file").seen_on(ON_6_18)];

/// Waits that end, directly or finally, with a request's completion.
const IO: Rank = &[
    io(&["io_cqring_wait", "read_events"], Cause::IoWorker, "asynchronous I/O completions").seen_on(ON_6_18),
    io(&["folio_wait_bit_common", "__folio_lock*"], Cause::Device, "page read").seen_on(ON_6_18),
    // Before Linux 5.16 pages, not folios.
    io(&["wait_on_page_bit_common", "__lock_page*"], Cause::Device, "page read"),
    io(&["submit_bio_wait", "blkdev_issue_*", "blk_execute_rq"], Cause::Device, "synchronous I/O").seen_on(ON_6_18),
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
        "metadata block I/O",
    )
    .seen_on(ON_6_18),
    io(&["xfs_buf_iowait", "read_extent_buffer_pages*"], Cause::Device, "metadata block I/O").seen_on(ON_6_18),
    io(&["blk_io_schedule"], Cause::Device, "I/O"),
    io(&["bufwait", "getblk"], Cause::Device, "block I/O (FreeBSD)"),
];

/// Calls that send something, and wait until there is room for it: whatever the other end does, they never idle.
const PEERS: Rank = &[
    rule(&["inet_wait_for_connect", "__inet_stream_connect"], Cause::Peer, "answer to a connect").seen_on(ON_6_18),
    rule(&["sk_stream_wait_memory"], Cause::Peer, "room in a connection, whose receiver is behind").seen_on(ON_6_18),
    rule(&["unix_wait_for_peer"], Cause::Peer, "room among the connections that a server has not accepted yet")
        .called_by(&["unix_stream_connect"]),
    rule(
        &["unix_wait_for_peer", "sock_wait_for_wmem", "sock_alloc_send_pskb"],
        Cause::Peer,
        "room in a socket, whose receiver is behind",
    ),
    rule(&["anon_pipe_write", "pipe_write", "wait_for_space"], Cause::Peer, "room in a pipe, whose reader is behind")
        .seen_on(ON_6_18),
    rule(&["n_tty_write"], Cause::Peer, "terminal whose output is stopped (Ctrl-S), or whose reader is behind")
        .seen_on(ON_6_18),
    rule(&["do_msgsnd", "do_mq_timedsend"], Cause::Peer, "room in a message queue"),
];
