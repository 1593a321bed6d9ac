//! Wait reasons, and the FreeBSD stacks of the waits.

use super::buffers::Lock;

/// Why a task is off the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// bufdaemon holds the vnode.
    Vnode,
    /// The block is being read, or its buffer is locked while it is written.
    Block(u64),
    /// Its own write, which helps bufdaemon, is in flight.
    Help(u64),
    /// No buffer is free, clean, or within hibufspace.
    Space,
    /// Too many buffers are dirty.
    Dirty,
    /// Too much is being written.
    Running,
    /// bufdaemon scans the queue of dirty buffers.
    Queue,
}

/// A wait in progress.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) reason: Reason,
    pub(super) since_ns: u64,
}

macro_rules! slept_in {
    ($($function:literal),+) => { &["mi_switch", "sleepq_switch", "sleepq_wait", $($function),+] };
}

impl Reason {
    /// The stack, innermost function first.
    pub(super) fn frames(self, lock: Lock) -> &'static [&'static str] {
        let reads = lock == Lock::Shared;
        match self {
            Reason::Vnode => slept_in!("sleeplk", "__lockmgr_args", "ffs_lock", "_vn_lock", "vn_rdwr"),
            Reason::Block(_) if reads => slept_in!("_sleep", "bwait", "bufwait", "cluster_read", "ffs_read", "vn_read"),
            Reason::Block(_) => {
                slept_in!("sleeplk", "__lockmgr_args", "getblk", "ffs_balloc_ufs2", "ffs_write", "vn_write")
            }
            Reason::Help(_) => {
                slept_in!(
                    "_sleep",
                    "bwait",
                    "bufwait",
                    "bufwrite",
                    "flushbufqueues",
                    "buf_do_flush",
                    "getnewbuf",
                    "getblk"
                )
            }
            Reason::Space if reads => {
                slept_in!("_sleep", "getnewbuf", "getblk", "cluster_read", "ffs_read", "VOP_READ_APV", "vn_read")
            }
            Reason::Space => {
                slept_in!("_sleep", "getnewbuf", "getblk", "ffs_balloc_ufs2", "ffs_write", "VOP_WRITE_APV", "vn_write")
            }
            Reason::Dirty => slept_in!("_sleep", "bwillwrite", "vn_write", "dofilewrite", "kern_writev", "sys_write"),
            Reason::Running => {
                slept_in!("_sleep", "waitrunningbufspace", "bufwrite", "ffs_write", "VOP_WRITE_APV", "vn_write")
            }
            Reason::Queue => &["mi_switch", "turnstile_wait", "_mtx_lock_sleep", "bqrelse"],
        }
    }

    /// What would end the wait.
    pub(super) fn awaits(self, lock: Lock) -> &'static str {
        match self {
            Reason::Vnode => "its vnode's lock (vn_lock)",
            Reason::Block(_) => "the transfer of a block",
            Reason::Help(_) => "the transfer of a block that it flushes",
            Reason::Space if lock == Lock::Shared => "space for a buffer (getnewbuf), with its vnode locked shared",
            Reason::Space => "space for a buffer (getnewbuf), with its vnode locked",
            Reason::Dirty => "numdirtybuffers below hidirtybuffers (bwillwrite)",
            Reason::Running => "runningbufspace below lorunningspace",
            Reason::Queue => "the lock of the buffer queues",
        }
    }
}
