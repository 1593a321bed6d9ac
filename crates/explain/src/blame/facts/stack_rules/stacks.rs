//! The stack rules. The versions are those on which a real machine recorded a stack that the rule decides. A rule
//! without a version comes from the kernel's sources alone.

use model::wait_kind::WaitKind;

use super::stack_rule::{Rank, StackRule};
use crate::blame::facts::cause::Cause;

const fn rule(frames: &'static [&'static str], cause: Cause, kind: WaitKind) -> StackRule {
    StackRule { frames, callers: &[], innermost: false, cause, kind, on_request: false, seen_on: &[] }
}

const fn io(frames: &'static [&'static str], cause: Cause, kind: WaitKind) -> StackRule {
    StackRule { on_request: true, ..rule(frames, cause, kind) }
}

const fn innermost(frames: &'static [&'static str], cause: Cause, kind: WaitKind) -> StackRule {
    StackRule { innermost: true, ..rule(frames, cause, kind) }
}

impl StackRule {
    const fn called_by(self, callers: &'static [&'static str]) -> StackRule {
        StackRule { callers, ..self }
    }

    const fn seen_on(self, seen_on: &'static [&'static str]) -> StackRule {
        StackRule { seen_on, ..self }
    }
}

const ON_6_18: &[&str] = &["6.18"];

/// The first rank with a rule for the stack decides.
pub(crate) const RANKS: &[Rank] = &[MEMORY, SWAP, MECHANISMS, LOCKS, WRITEBACK, FAULTS, IO, PEERS];

/// Memory was short: any wait in these functions is a wait for memory.
const MEMORY: Rank = &[
    rule(
        &["mem_cgroup_oom_synchronize", "mem_cgroup_oom", "pagefault_out_of_memory"],
        Cause::OutOfMemory,
        WaitKind::MemoryCgroupRoom,
    )
    .seen_on(ON_6_18),
    rule(&["reclaim_throttle", "throttle_direct_reclaim"], Cause::ReclaimThrottle, WaitKind::ReclaimThrottling)
        .seen_on(ON_6_18),
    rule(
        &["mem_cgroup_handle_over_high", "__mem_cgroup_handle_over_high"],
        Cause::ReclaimThrottle,
        WaitKind::AboveMemoryHigh,
    ),
    rule(&["do_shrink_slab", "shrink_slab*", "super_cache_scan"], Cause::Shrinker, WaitKind::SlabShrinker),
    rule(&["try_to_compact_pages", "compact_zone*"], Cause::Compaction, WaitKind::Compaction),
    rule(&["shrink_node*", "shrink_lruvec", "try_to_free_*"], Cause::DirectReclaim, WaitKind::DirectReclaim)
        .seen_on(ON_6_18),
];

/// A page fault that reads from swap, whatever that read waits for.
const SWAP: Rank = &[rule(
    &["do_swap_page", "shmem_swapin*", "swap_read_folio*", "swapin_*", "swap_cluster_readahead", "swap_vma_readahead"],
    Cause::Swap,
    WaitKind::SwapPage,
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
    rule(&["__refrigerator", "do_freezer_trap"], Cause::Stopped, WaitKind::FrozenCgroup).seen_on(ON_6_18),
    rule(&["ptrace_stop"], Cause::Stopped, WaitKind::Debugger),
    rule(&["do_signal_stop"], Cause::Stopped, WaitKind::StopSignal).seen_on(ON_6_18),
    rule(&["balance_dirty_pages*"], Cause::DirtyThrottle, WaitKind::DirtyThrottle).seen_on(ON_6_18),
    rule(&["bwillwrite"], Cause::DirtyThrottle, WaitKind::BsdDirtyBuffers),
    rule(&["waitrunningbufspace"], Cause::DirtyThrottle, WaitKind::BsdRunningBuffers),
    rule(&["getnewbuf"], Cause::DirtyThrottle, WaitKind::BsdBufferSpace),
    // The second is among the functions that stacks omit since 5.18 or so.
    rule(&["percpu_rwsem_wait", "__percpu_down_read"], Cause::Frozen, WaitKind::FileSystemThaw)
        .called_by(WRITERS)
        .seen_on(ON_6_18),
    innermost(&["mnt_want_write*", "vfs_write", "do_iter_readv_writev"], Cause::Frozen, WaitKind::FileSystemThaw),
    rule(&["freeze_super"], Cause::Frozen, WaitKind::WritersBeforeFreeze).seen_on(ON_6_18),
    rule(&["jbd2_log_wait_commit", "jbd2_complete_transaction"], Cause::Journal, WaitKind::JournalCommit)
        .seen_on(ON_6_18),
    rule(&["wait_transaction_locked", "wait_transaction_switching"], Cause::Journal, WaitKind::LockedTransaction)
        .seen_on(ON_6_18),
    rule(&["__jbd2_log_wait_for_space", "jbd2_log_do_checkpoint"], Cause::Journal, WaitKind::JournalSpace)
        .seen_on(ON_6_18),
    rule(&["add_transaction_credits", "start_this_handle"], Cause::Journal, WaitKind::TransactionRoom).seen_on(ON_6_18),
    rule(&["do_get_write_access"], Cause::Journal, WaitKind::MetadataUnderJournalWrite).seen_on(ON_6_18),
    rule(&["jbd2_journal_wait_updates"], Cause::Journal, WaitKind::JournalHandles).seen_on(ON_6_18),
    rule(&["jbd2_journal_lock_updates", "jbd2_journal_flush"], Cause::Journal, WaitKind::JournalFlush),
    rule(&["jbd2_fc_*", "ext4_fc_*"], Cause::Journal, WaitKind::JournalFastCommit),
    rule(&["xlog_grant_head_wait", "xlog_grant_head_check"], Cause::FsLog, WaitKind::XfsLogSpace).seen_on(ON_6_18),
    rule(
        &["xlog_cil_force_seq", "xlog_cil_push_now", "xlog_cil_commit", "xlog_cil_order_write"],
        Cause::FsLog,
        WaitKind::XfsCilPush,
    )
    .seen_on(ON_6_18),
    rule(&["xlog_wait_on_iclog*", "xlog_state_get_iclog_space"], Cause::FsLog, WaitKind::XfsLogWrite).seen_on(ON_6_18),
    rule(&["xfs_log_force*", "xfs_ail_push*"], Cause::FsLog, WaitKind::XfsLogForce).seen_on(ON_6_18),
    rule(
        &["xfs_inodegc_flush", "xfs_inodegc_push", "xfs_inodegc_queue", "xfs_inodegc_wait_all"],
        Cause::FsTransaction,
        WaitKind::XfsInodeInactivation,
    ),
    rule(&["xfs_buf_lock"], Cause::Lock, WaitKind::XfsBufferLock).seen_on(ON_6_18),
    rule(&["btrfs_wait_for_commit", "wait_current_trans"], Cause::FsTransaction, WaitKind::BtrfsRunningCommit)
        .seen_on(ON_6_18),
    rule(&["btrfs_commit_transaction*", "wait_for_commit"], Cause::FsTransaction, WaitKind::BtrfsCommit)
        .seen_on(ON_6_18),
    rule(&["btrfs_sync_log", "wait_log_commit"], Cause::FsTransaction, WaitKind::BtrfsLogTree).seen_on(ON_6_18),
    rule(&["handle_reserve_ticket", "__reserve_bytes"], Cause::FsTransaction, WaitKind::BtrfsSpaceReservation)
        .seen_on(ON_6_18),
    rule(&["btrfs_tree_lock*", "btrfs_tree_read_lock*"], Cause::Lock, WaitKind::BtrfsTreeLock).seen_on(ON_6_18),
    rule(
        &["inode_wait_for_writeback", "inode_sleep_on_writeback"],
        Cause::WritebackWait,
        WaitKind::InodeUnderWriteback,
    )
    .seen_on(ON_6_18),
    rule(&["wb_wait_for_completion"], Cause::WritebackWait, WaitKind::Flusher).seen_on(ON_6_18),
    rule(&["rq_qos_wait", "__wbt_wait"], Cause::RequestWait, WaitKind::WritebackThrottling).called_by(&["wbt_wait"]),
    rule(&["wbt_wait"], Cause::RequestWait, WaitKind::WritebackThrottling),
    rule(&["rq_qos_wait"], Cause::IoThrottle, WaitKind::IoLatency).called_by(&["blkcg_iolatency_throttle"]),
    rule(&["blkcg_iolatency_throttle", "blkcg_maybe_throttle_*"], Cause::IoThrottle, WaitKind::IoLatency),
    rule(&["ioc_rqos_throttle"], Cause::IoThrottle, WaitKind::IoCost),
    rule(&["blk_mq_get_tag", "rq_qos_wait"], Cause::RequestWait, WaitKind::RequestTag).seen_on(ON_6_18),
    rule(&["blk_queue_enter", "__bio_queue_enter"], Cause::RequestWait, WaitKind::FrozenRequestQueue),
    rule(&["blk_mq_freeze_queue_wait"], Cause::RequestWait, WaitKind::RequestQueueDrain).seen_on(ON_6_18),
    // The server has refused the lock; the call itself is a wait further within.
    rule(&["nfs4_retry_setlk*", "nfs4_proc_lock", "nlmclnt_block", "nlmclnt_wait"], Cause::Lock, WaitKind::NfsLock),
    rule(
        &["rpc_wait_bit_killable", "nfs_*", "nfs4_*", "cifs_*", "smb2_*", "ceph_*"],
        Cause::NetworkFs,
        WaitKind::NetworkServer,
    ),
    rule(&["osc_enter_cache"], Cause::DirtyThrottle, WaitKind::LustreGrant),
    rule(&["ldlm_completion_ast"], Cause::Lock, WaitKind::LustreLock),
    rule(&["osc_extent_wait", "cl_sync_io_wait", "ptlrpc_*"], Cause::NetworkFs, WaitKind::LustreServer),
    rule(&["fanotify_get_response", "fanotify_handle_event"], Cause::Fanotify, WaitKind::FanotifyAnswer)
        .seen_on(ON_6_18),
    rule(&["request_wait_answer", "fuse_*"], Cause::NetworkFs, WaitKind::FuseServer).seen_on(ON_6_18),
];

/// Locks. Stacks omit the functions that sleep on them, so their callers are listed. With the tracer, the kernel
/// announces these waits itself.
const LOCKS: Rank = &[
    innermost(
        &["xfs_ilock", "btrfs_inode_lock", "ext4_buffered_write_iter", "ext4_dio_write_iter", "ext4_file_*"],
        Cause::Lock,
        WaitKind::FileInodeLock,
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
        WaitKind::DirectoryInodeLock,
    )
    .seen_on(ON_6_18),
    innermost(
        &["do_user_addr_fault", "lock_mm_and_find_vma", "vm_mmap_pgoff", "__vm_munmap", "__vma_start_write"],
        Cause::Lock,
        WaitKind::MmapLock,
    )
    .seen_on(ON_6_18),
    innermost(&["__do_page_fault"], Cause::Lock, WaitKind::MmapLock),
    innermost(&["xfs_iget"], Cause::Lock, WaitKind::InodeUnderReclaim),
    innermost(&["fdget_pos", "__fdget_pos"], Cause::Lock, WaitKind::FilePositionLock),
    rule(&["percpu_rwsem_wait"], Cause::Lock, WaitKind::SystemWideLock),
    innermost(&["d_alloc_parallel"], Cause::Lock, WaitKind::SameNameLookup),
    innermost(&["sync_inodes_sb"], Cause::Lock, WaitKind::AnotherSync).seen_on(ON_6_18),
    // Closing what was traced, mounts: until every CPU has left the code that may still use it.
    rule(
        &["synchronize_rcu*", "synchronize_srcu*", "rcu_barrier*", "__wait_rcu_gp"],
        Cause::Lock,
        WaitKind::RcuGracePeriod,
    )
    .seen_on(ON_6_18),
    rule(&["__wait_on_freeing_inode"], Cause::Lock, WaitKind::InodeBeingFreed),
    rule(&["flock_lock_inode_wait", "locks_lock_inode_wait", "__do_sys_flock"], Cause::Lock, WaitKind::Flock),
    rule(&["do_lock_file_wait", "fcntl_setlk", "posix_lock_inode_wait"], Cause::Lock, WaitKind::PosixLock),
    rule(&["__break_lease"], Cause::Lock, WaitKind::FileLease),
    rule(&["futex_*", "do_futex"], Cause::Lock, WaitKind::AnotherThread).seen_on(ON_6_18),
    rule(&["_vn_lock"], Cause::Lock, WaitKind::BsdVnodeLock),
    // It sleeps here when the vnodes of all buffers that it could flush are locked.
    rule(&["buf_daemon"], Cause::Lock, WaitKind::BsdVnodeLocks),
    rule(&["_mtx_lock_sleep"], Cause::Lock, WaitKind::BsdMutex),
];

/// Pages to be written, whether or not writeback has started.
const WRITEBACK: Rank = &[
    io(&["folio_wait_writeback*", "__filemap_fdatawait_range"], Cause::WritebackWait, WaitKind::PagesUnderWriteback)
        .seen_on(ON_6_18),
    io(&["btrfs_wait_ordered_*", "btrfs_start_ordered_extent*"], Cause::WritebackWait, WaitKind::BtrfsOrderedData)
        .seen_on(ON_6_18),
    // A page that is read is no dirty page.
    rule(&["__folio_lock"], Cause::WritebackWait, WaitKind::PageLockedByWriter)
        .called_by(&["mpage_prepare_extent_to_map", "write_cache_pages", "writeback_iter", "writeback_get_folio"])
        .seen_on(ON_6_18),
];

/// A page fault that reads a file. What it waits for decides, where that is known: it is a read like any other.
const FAULTS: Rank = &[io(&["filemap_fault", "__do_fault"], Cause::PageFault, WaitKind::MappedPage).seen_on(ON_6_18)];

/// Waits that end, directly or finally, with a request's completion.
const IO: Rank = &[
    io(&["io_cqring_wait", "read_events"], Cause::IoWorker, WaitKind::AsynchronousCompletions).seen_on(ON_6_18),
    io(&["folio_wait_bit_common", "__folio_lock*"], Cause::Device, WaitKind::PageRead).seen_on(ON_6_18),
    // Before Linux 5.16 pages, not folios.
    io(&["wait_on_page_bit_common", "__lock_page*"], Cause::Device, WaitKind::PageRead),
    io(&["submit_bio_wait", "blkdev_issue_*", "blk_execute_rq"], Cause::Device, WaitKind::SynchronousIo)
        .seen_on(ON_6_18),
    io(
        &["__iomap_dio_rw", "iomap_dio_*", "blkdev_direct_IO*", "__blkdev_direct_IO*"],
        Cause::Device,
        WaitKind::DirectIo,
    )
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
        WaitKind::MetadataIo,
    )
    .seen_on(ON_6_18),
    io(&["xfs_buf_iowait", "read_extent_buffer_pages*"], Cause::Device, WaitKind::MetadataIo).seen_on(ON_6_18),
    io(&["blk_io_schedule"], Cause::Device, WaitKind::Io),
    io(&["bufwait", "getblk"], Cause::Device, WaitKind::BsdBlockIo),
];

/// Calls that send something, and wait until there is room for it: whatever the other end does, they never idle.
const PEERS: Rank = &[
    rule(&["inet_wait_for_connect", "__inet_stream_connect"], Cause::Peer, WaitKind::ConnectAnswer).seen_on(ON_6_18),
    rule(&["sk_stream_wait_memory"], Cause::Peer, WaitKind::ConnectionRoom).seen_on(ON_6_18),
    rule(&["unix_wait_for_peer"], Cause::Peer, WaitKind::BacklogRoom).called_by(&["unix_stream_connect"]),
    rule(&["unix_wait_for_peer", "sock_wait_for_wmem", "sock_alloc_send_pskb"], Cause::Peer, WaitKind::SocketRoom),
    rule(&["anon_pipe_write", "pipe_write", "wait_for_space"], Cause::Peer, WaitKind::PipeRoom).seen_on(ON_6_18),
    rule(&["n_tty_write"], Cause::Peer, WaitKind::TerminalRoom).seen_on(ON_6_18),
    rule(&["do_msgsnd", "do_mq_timedsend"], Cause::Peer, WaitKind::QueueRoom),
];
