//! The sources of signals: which BPF programs give them.

use super::shape::TracepointProgram;
use super::table::Signal;
use crate::preflight::capability;

/// Programs that work only together, and the signals that they give. Of programs on the same tracepoint the first that
/// fits is loaded.
#[derive(Debug, Clone, Copy)]
pub struct SignalSource {
    /// Name in findings: `tracing: direct reclaim`.
    pub name: &'static str,
    /// What it shows.
    pub purpose: &'static str,
    /// The kernel module that may hold the tracepoints.
    pub module: Option<&'static str>,
    /// Its programs.
    pub programs: &'static [TracepointProgram],
    /// Its signals.
    pub signals: &'static [Signal],
}

const fn source(
    name: &'static str,
    purpose: &'static str,
    signals: &'static [Signal],
    programs: &'static [TracepointProgram],
) -> SignalSource {
    SignalSource { name, purpose, module: None, programs, signals }
}

impl SignalSource {
    const fn of(self, module: &'static str) -> SignalSource {
        SignalSource { module: Some(module), ..self }
    }
}

const fn program(name: &'static str, tracepoint: &'static str, arguments: usize) -> TracepointProgram {
    TracepointProgram::at_least(name, tracepoint, arguments)
}

const fn exactly(name: &'static str, tracepoint: &'static str, arguments: usize) -> TracepointProgram {
    TracepointProgram::exactly(name, tracepoint, arguments)
}

// tidy: table
/// The sources of signals: those of the kernel proper, then those of file systems.
pub const SOURCES: &[SignalSource] = &[
    source(
        capability::DIRECT_RECLAIM,
        "Time that tasks spend in direct reclaim",
        &[Signal::DirectReclaim],
        &[
            program("direct_reclaim_begin", "mm_vmscan_direct_reclaim_begin", 1),
            program("direct_reclaim_end", "mm_vmscan_direct_reclaim_end", 1),
        ],
    ),
    source(
        capability::MEMCG_RECLAIM,
        "Time that tasks spend in reclaim of their memory cgroup",
        &[Signal::MemcgReclaim],
        &[
            program("memcg_reclaim_begin", "mm_vmscan_memcg_reclaim_begin", 1),
            program("memcg_reclaim_end", "mm_vmscan_memcg_reclaim_end", 1),
        ],
    ),
    source(
        "tracing: reclaim throttling",
        "Time that tasks sleep in reclaim throttling",
        &[Signal::VmscanThrottled],
        &[exactly("vmscan_throttled", "mm_vmscan_throttled", 4)],
    ),
    source(
        "tracing: shrinkers",
        "Time spent in slab shrinkers, and in which",
        &[Signal::ShrinkSlab],
        &[program("shrink_slab_start", "mm_shrink_slab_start", 1), program("shrink_slab_end", "mm_shrink_slab_end", 1)],
    ),
    source(
        "tracing: compaction",
        "Time spent in memory compaction",
        &[Signal::Compaction],
        &[program("compaction_begin", "mm_compaction_begin", 1), program("compaction_end", "mm_compaction_end", 1)],
    ),
    source(
        "tracing: dirty throttling",
        "Dirty-page throttling of writers",
        &[Signal::BalanceDirtyPages],
        &[
            exactly("balance_dirty_pages", "balance_dirty_pages", 8),
            exactly("balance_dirty_pages_12", "balance_dirty_pages", 12),
        ],
    ),
    source(
        "tracing: writeback waits",
        "Waits for pages under writeback",
        &[Signal::FolioWaitWriteback],
        &[program("folio_wait_writeback", "folio_wait_writeback", 2)],
    ),
    source(
        capability::LOCKS,
        "Waits for mutexes and semaphores",
        &[Signal::Contention],
        &[program("contention_begin", "contention_begin", 2), program("contention_end", "contention_end", 1)],
    ),
    source(
        "tracing: file locks",
        "Waits for locks and leases of files, and who holds them",
        &[Signal::FlockLockInode, Signal::PosixLockInode, Signal::BreakLeaseBlock],
        &[
            program("flock_lock_inode", "flock_lock_inode", 3),
            program("posix_lock_inode", "posix_lock_inode", 3),
            program("break_lease_block", "break_lease_block", 2),
        ],
    ),
    source(
        "tracing: refused attempts",
        "Sleeps between attempts at a lock file, or at a server that does not listen yet",
        &[Signal::NameTaken, Signal::FolderTaken, Signal::ConnectionRefused],
        &[program("inet_sock_set_state", "inet_sock_set_state", 3)],
    ),
    source(
        "tracing: jbd2 commits",
        "Commits of ext4's journal, by phase",
        &[Signal::Jbd2RunStats],
        &[exactly("jbd2_run_stats", "jbd2_run_stats", 3)],
    )
    .of("jbd2"),
    source(
        "tracing: jbd2 buffers",
        "Waits for buffers in ext4's journal",
        &[Signal::Jbd2LockBufferStall],
        &[exactly("jbd2_lock_buffer_stall", "jbd2_lock_buffer_stall", 2)],
    )
    .of("jbd2"),
    source(
        "tracing: jbd2 checkpoints",
        "Waits for space in ext4's journal",
        &[Signal::Jbd2Checkpoint],
        &[exactly("jbd2_checkpoint", "jbd2_checkpoint", 2)],
    )
    .of("jbd2"),
    source(
        "tracing: XFS log",
        "Waits for the XFS log",
        &[Signal::XfsLogGrantSleep, Signal::XlogIclogWaitOn, Signal::XfsLogForce],
        &[
            program("xfs_log_grant_sleep", "xfs_log_grant_sleep", 1),
            program("xlog_iclog_wait_on", "xlog_iclog_wait_on", 1),
            program("xfs_log_force", "xfs_log_force", 1),
        ],
    )
    .of("xfs"),
    source(
        "tracing: XFS log commits",
        "Waits for pushes of the XFS committed items list (CIL)",
        &[Signal::XfsLogCilWait],
        &[program("xfs_log_cil_wait", "xfs_log_cil_wait", 1)],
    )
    .of("xfs"),
    source(
        "tracing: XFS buffers",
        "Waits for XFS metadata buffers",
        &[Signal::XfsBufIowait, Signal::XfsBufLock],
        &[
            program("xfs_buf_iowait", "xfs_buf_iowait", 1),
            program("xfs_buf_lock", "xfs_buf_lock", 1),
            program("xfs_buf_lock_done", "xfs_buf_lock_done", 1),
        ],
    )
    .of("xfs"),
    source(
        "tracing: XFS inode freeing",
        "Throttling by XFS inode inactivation",
        &[Signal::XfsInodegcThrottle],
        &[program("xfs_inodegc_throttle", "xfs_inodegc_throttle", 1)],
    )
    .of("xfs"),
    source(
        "tracing: btrfs commits",
        "Transaction commits of btrfs",
        &[Signal::BtrfsTransactionCommit],
        &[
            program("btrfs_transaction_commit", "btrfs_transaction_commit", 1),
            program("btrfs_transaction_commit_of", "btrfs_transaction_commit", 1),
        ],
    )
    .of("btrfs"),
    source(
        "tracing: btrfs space",
        "Waits for space reservations of btrfs",
        &[Signal::BtrfsReserveTicket],
        &[exactly("btrfs_reserve_ticket", "btrfs_reserve_ticket", 6)],
    )
    .of("btrfs"),
    source(
        "tracing: btrfs tree locks",
        "Waits for tree locks of btrfs",
        &[Signal::BtrfsTreeLock, Signal::BtrfsTreeReadLock],
        &[exactly("btrfs_tree_lock", "btrfs_tree_lock", 2), exactly("btrfs_tree_read_lock", "btrfs_tree_read_lock", 2)],
    )
    .of("btrfs"),
];
