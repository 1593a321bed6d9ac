//! The signals, the table of what each is, and the table of their sources.

use super::shape::SignalKind::{self, Mark, Pair, Span};
use super::shape::{SignalDetail, TracepointProgram};
use crate::cause::Cause;
use crate::preflight::capability;
use crate::wait_kind::WaitKind;

/// What the kernel reports of a wait by a tracepoint. In the order of [`SIGNALS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Signal {
    /// Direct reclaim.
    DirectReclaim,
    /// Reclaim within a memory cgroup.
    MemcgReclaim,
    /// A shrinker at work.
    ShrinkSlab,
    /// Memory compaction.
    Compaction,
    /// Reclaim throttling.
    VmscanThrottled,
    /// A commit of jbd2.
    Jbd2RunStats,
    /// A buffer held by a commit of jbd2.
    Jbd2LockBufferStall,
    /// A commit of btrfs.
    BtrfsTransactionCommit,
    /// A space reservation of btrfs.
    BtrfsReserveTicket,
    /// A tree lock of btrfs, for writing.
    BtrfsTreeLock,
    /// A tree lock of btrfs, for reading.
    BtrfsTreeReadLock,
    /// A sleeping lock.
    Contention,
    /// Dirty-page throttling.
    BalanceDirtyPages,
    /// A page under writeback.
    FolioWaitWriteback,
    /// Space in the log of XFS.
    XfsLogGrantSleep,
    /// A log buffer of XFS.
    XlogIclogWaitOn,
    /// A push of XFS's committed items list (CIL).
    XfsLogCilWait,
    /// I/O of a metadata buffer of XFS.
    XfsBufIowait,
    /// The lock of a metadata buffer of XFS.
    XfsBufLock,
    /// Throttling by XFS's inode inactivation.
    XfsInodegcThrottle,
    /// A log force of XFS.
    XfsLogForce,
    /// A checkpoint of jbd2.
    Jbd2Checkpoint,
    /// A lock of a file (flock).
    FlockLockInode,
    /// A lock of a file (fcntl).
    PosixLockInode,
    /// A lease of a file.
    BreakLeaseBlock,
}

/// A signal, as the table defines it.
#[derive(Debug, Clone, Copy)]
pub struct SignalDefinition {
    /// Which.
    pub signal: Signal,
    /// Its name in archives: the tracepoint's, of a pair without `_begin`, `_start`, `_end`.
    pub name: &'static str,
    /// What the tracepoint reports.
    pub kind: SignalKind,
    /// What it means for the task that waits; `None` for one that only adds to a timeline.
    pub meaning: Option<SignalMeaning>,
    /// What its fields say.
    pub detail: SignalDetail,
}

/// What a signal means for the task that waits.
#[derive(Debug, Clone, Copy)]
pub struct SignalMeaning {
    /// Which signal.
    pub signal: Signal,
    /// What the wait is attributed to.
    pub cause: Cause,
    /// What the wait is for.
    pub kind: WaitKind,
    /// A block request's completion may end the wait, and then the request's life says more.
    pub on_request: bool,
    /// Patterns, one of which is on the stack of the wait that was announced: not every announced wait comes. None: it
    /// always comes.
    pub frames: &'static [&'static str],
}

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

const fn signal(signal: Signal, kind: SignalKind, name: &'static str) -> SignalDefinition {
    SignalDefinition { signal, name, kind, meaning: None, detail: SignalDetail::Device }
}

impl SignalDefinition {
    const fn means(self, cause: Cause, kind: WaitKind) -> SignalDefinition {
        let meaning = SignalMeaning { signal: self.signal, cause, kind, on_request: false, frames: &[] };
        SignalDefinition { meaning: Some(meaning), ..self }
    }

    /// For a wait that was announced: one of these functions is on its stack.
    const fn in_frames(self, frames: &'static [&'static str]) -> SignalDefinition {
        let SignalDefinition { meaning: Some(meaning), .. } = self else { panic!("means() comes first") };
        SignalDefinition { meaning: Some(SignalMeaning { frames, ..meaning }), ..self }
    }

    const fn on_request(self) -> SignalDefinition {
        let SignalDefinition { meaning: Some(meaning), .. } = self else { panic!("means() comes first") };
        SignalDefinition { meaning: Some(SignalMeaning { on_request: true, ..meaning }), ..self }
    }

    const fn with(self, detail: SignalDetail) -> SignalDefinition {
        SignalDefinition { detail, ..self }
    }
}

// tidy: table
/// All signals: pairs, other spans, marks.
pub const SIGNALS: &[SignalDefinition] = &[
    signal(Signal::DirectReclaim, Pair, "mm_vmscan_direct_reclaim")
        .means(Cause::DirectReclaim, WaitKind::DirectReclaim)
        .with(SignalDetail::PagesReclaimed),
    signal(Signal::MemcgReclaim, Pair, "mm_vmscan_memcg_reclaim")
        .means(Cause::DirectReclaim, WaitKind::MemoryCgroupReclaim)
        .with(SignalDetail::PagesReclaimed),
    signal(Signal::ShrinkSlab, Pair, "mm_shrink_slab")
        .means(Cause::Shrinker, WaitKind::SlabShrinker)
        .with(SignalDetail::Shrinker),
    signal(Signal::Compaction, Pair, "mm_compaction")
        .means(Cause::Compaction, WaitKind::Compaction)
        .with(SignalDetail::Nothing),
    signal(Signal::VmscanThrottled, Span, "mm_vmscan_throttled")
        .means(Cause::ReclaimThrottle, WaitKind::ReclaimThrottling)
        .with(SignalDetail::ThrottleReason),
    signal(Signal::Jbd2RunStats, Span, "jbd2_run_stats").with(SignalDetail::JournalCommit),
    signal(Signal::Jbd2LockBufferStall, Span, "jbd2_lock_buffer_stall").means(Cause::Journal, WaitKind::BufferOfCommit),
    signal(Signal::BtrfsTransactionCommit, Span, "btrfs_transaction_commit")
        .means(Cause::FsTransaction, WaitKind::BtrfsCommit),
    signal(Signal::BtrfsReserveTicket, Span, "btrfs_reserve_ticket")
        .means(Cause::FsTransaction, WaitKind::BtrfsSpaceReservation),
    signal(Signal::BtrfsTreeLock, Span, "btrfs_tree_lock").means(Cause::Lock, WaitKind::BtrfsTreeLock),
    signal(Signal::BtrfsTreeReadLock, Span, "btrfs_tree_read_lock").means(Cause::Lock, WaitKind::BtrfsTreeLock),
    signal(Signal::Contention, Mark, "contention_begin")
        .means(Cause::Lock, WaitKind::KernelLock)
        .with(SignalDetail::LockFlags),
    signal(Signal::BalanceDirtyPages, Mark, "balance_dirty_pages")
        .means(Cause::DirtyThrottle, WaitKind::DirtyThrottle)
        .in_frames(&["balance_dirty_pages*"])
        .with(SignalDetail::DirtyPages),
    signal(Signal::FolioWaitWriteback, Mark, "folio_wait_writeback")
        .means(Cause::WritebackWait, WaitKind::PagesUnderWriteback)
        .in_frames(&["folio_wait_*"])
        .on_request()
        .with(SignalDetail::Inode),
    signal(Signal::XfsLogGrantSleep, Mark, "xfs_log_grant_sleep")
        .means(Cause::FsLog, WaitKind::XfsLogSpace)
        .in_frames(&["xlog_grant_*"]),
    signal(Signal::XlogIclogWaitOn, Mark, "xlog_iclog_wait_on")
        .means(Cause::FsLog, WaitKind::XfsLogWrite)
        .in_frames(&["xlog_*", "xfs_log_*"]),
    signal(Signal::XfsLogCilWait, Mark, "xfs_log_cil_wait")
        .means(Cause::FsLog, WaitKind::XfsCilPush)
        .in_frames(&["xlog_*", "xfs_log_*"]),
    signal(Signal::XfsBufIowait, Mark, "xfs_buf_iowait")
        .means(Cause::Device, WaitKind::XfsBufferIo)
        .in_frames(&["xfs_buf_*"])
        .on_request(),
    signal(Signal::XfsBufLock, Mark, "xfs_buf_lock")
        .means(Cause::Lock, WaitKind::XfsBufferLock)
        .in_frames(&["xfs_buf_*"]),
    signal(Signal::XfsInodegcThrottle, Mark, "xfs_inodegc_throttle")
        .means(Cause::FsTransaction, WaitKind::XfsInodeInactivation)
        .in_frames(&["xfs_inodegc_*"]),
    signal(Signal::XfsLogForce, Mark, "xfs_log_force")
        .means(Cause::FsLog, WaitKind::XfsLogForce)
        .in_frames(&["xlog_*", "xfs_log_*"]),
    signal(Signal::Jbd2Checkpoint, Mark, "jbd2_checkpoint")
        .means(Cause::Journal, WaitKind::JournalCheckpoint)
        .in_frames(&["*jbd2_*"]),
    signal(Signal::FlockLockInode, Mark, "flock_lock_inode")
        .means(Cause::Lock, WaitKind::Flock)
        .in_frames(&["*flock*", "locks_lock_inode_wait", "*nanosleep*", "do_select", "do_sys_poll", "ep_poll"])
        .with(SignalDetail::Nothing),
    signal(Signal::PosixLockInode, Mark, "posix_lock_inode")
        .means(Cause::Lock, WaitKind::PosixLock)
        .in_frames(&[
            "fcntl_setlk*",
            "do_lock_file_wait",
            "posix_lock_inode_wait",
            "locks_lock_inode_wait",
            "*nanosleep*",
            "do_select",
            "do_sys_poll",
            "ep_poll",
        ])
        .with(SignalDetail::Nothing),
    signal(Signal::BreakLeaseBlock, Mark, "break_lease_block")
        .means(Cause::Lock, WaitKind::FileLease)
        .in_frames(&["__break_lease"])
        .with(SignalDetail::Nothing),
];

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
