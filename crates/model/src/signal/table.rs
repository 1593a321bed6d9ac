//! The signals, and the table of what each is.

use super::shape::SignalDetail;
use super::shape::SignalKind::{self, Mark, Pair, Span};
use crate::cause::Cause;
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
    /// A name that only one task can create: a lock file.
    NameTaken,
    /// A folder that exists already: a lock, if another task made it.
    FolderTaken,
    /// An address where nobody listens.
    ConnectionRefused,
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

/// Where a task sleeps before it tries again what failed: itself, or in a wait for a child that sleeps for it.
const BETWEEN_ATTEMPTS: &[&str] = &["*nanosleep*", "do_select", "do_sys_poll", "ep_poll", "do_wait*"];

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
        .in_frames(&[
            "*flock*",
            "locks_lock_inode_wait",
            "*nanosleep*",
            "do_select",
            "do_sys_poll",
            "ep_poll",
            "do_wait*",
        ])
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
            "do_wait*",
        ])
        .with(SignalDetail::Nothing),
    signal(Signal::BreakLeaseBlock, Mark, "break_lease_block")
        .means(Cause::Lock, WaitKind::FileLease)
        .in_frames(&["__break_lease"])
        .with(SignalDetail::Nothing),
    signal(Signal::NameTaken, Mark, "name_taken")
        .means(Cause::Lock, WaitKind::LockFile)
        .in_frames(BETWEEN_ATTEMPTS)
        .with(SignalDetail::Name),
    signal(Signal::FolderTaken, Mark, "folder_taken")
        .means(Cause::Lock, WaitKind::LockFile)
        .in_frames(BETWEEN_ATTEMPTS)
        .with(SignalDetail::Name),
    signal(Signal::ConnectionRefused, Mark, "connection_refused")
        .means(Cause::Peer, WaitKind::Listener)
        .in_frames(BETWEEN_ATTEMPTS)
        .with(SignalDetail::Name),
];
