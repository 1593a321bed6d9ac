//! What a wait is for, more exactly than its cause: which lock, which part of a journal, which direction of a limit.

use traits::*;

/// What kinds have in common, one bit each.
mod traits {
    /// A lock that a program takes and holds for as long as it wants.
    pub(super) const PROGRAMS_LOCK: u32 = 1;
    /// It is for a write.
    pub(super) const WRITES: u32 = 1 << 1;
}

/// Declares the kinds: one row each, with the variant, its name in remedies and JSON, the field's words for it, and its
/// [`traits`].
macro_rules! wait_kinds {
    ($($kind:ident, $name:literal, $words:literal, $traits:expr;)*) => {
        /// A kind of wait. [`WaitKind::words`] say what it is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "the words of each row are its documentation")]
        #[repr(u8)]
        pub enum WaitKind {
            $($kind,)*
        }

        impl WaitKind {
            /// All kinds.
            pub const ALL: [WaitKind; TABLE.len()] = [$(WaitKind::$kind,)*];
        }

        const TABLE: &[Row] = &[$(Row { name: $name, words: $words, traits: $traits },)*];
    };
}

struct Row {
    name: &'static str,
    words: &'static str,
    traits: u32,
}

wait_kinds! {
    MemoryCgroupRoom, "memory_cgroup_room", "room in its memory cgroup, without the OOM killer", 0;
    ReclaimThrottling, "reclaim_throttling", "reclaim throttling", 0;
    AboveMemoryHigh, "above_memory_high", "throttled above memory.high of its cgroup", 0;
    SlabShrinker, "slab_shrinker", "slab shrinker", 0;
    Compaction, "compaction", "compaction for a high-order allocation", 0;
    DirectReclaim, "direct_reclaim", "direct reclaim", 0;
    SwapPage, "swap_page", "page from swap", 0;
    FrozenCgroup, "frozen_cgroup", "frozen with its cgroup", 0;
    Debugger, "debugger", "by a debugger", 0;
    StopSignal, "stop_signal", "by a signal", 0;
    DirtyThrottle, "dirty_throttle", "dirty-page throttling", 0;
    BsdDirtyBuffers, "bsd_dirty_buffers", "too many dirty buffers (FreeBSD)", 0;
    BsdRunningBuffers, "bsd_running_buffers", "buffer writes in flight (FreeBSD)", 0;
    BsdBufferSpace, "bsd_buffer_space", "buffer space, all of it dirty (FreeBSD)", 0;
    FileSystemThaw, "file_system_thaw", "thaw of the file system", 0;
    WritersBeforeFreeze, "writers_before_freeze", "writers to drain before a freeze", 0;
    JournalCommit, "journal_commit", "journal commit", 0;
    LockedTransaction, "locked_transaction", "transaction locked by the journal commit", 0;
    JournalSpace, "journal_space", "journal space", 0;
    TransactionRoom, "transaction_room", "room in the journal transaction", 0;
    MetadataUnderJournalWrite, "metadata_under_journal_write", "metadata block under journal write", 0;
    JournalHandles, "journal_handles", "open journal handles", 0;
    JournalFlush, "journal_flush", "journal flush", 0;
    JournalFastCommit, "journal_fast_commit", "journal fast commit", 0;
    XfsLogSpace, "xfs_log_space", "XFS log space", 0;
    XfsCilPush, "xfs_cil_push", "XFS log (CIL) push", 0;
    XfsLogWrite, "xfs_log_write", "XFS log write", 0;
    XfsLogForce, "xfs_log_force", "XFS log force", 0;
    XfsInodeInactivation, "xfs_inode_inactivation", "XFS background inode inactivation", 0;
    XfsBufferLock, "xfs_buffer_lock", "XFS metadata buffer lock", 0;
    BtrfsRunningCommit, "btrfs_running_commit", "running btrfs transaction commit", 0;
    BtrfsCommit, "btrfs_commit", "btrfs transaction commit", 0;
    BtrfsLogTree, "btrfs_log_tree", "btrfs log tree", 0;
    BtrfsSpaceReservation, "btrfs_space_reservation", "btrfs space reservation", 0;
    BtrfsTreeLock, "btrfs_tree_lock", "btrfs tree lock", 0;
    InodeUnderWriteback, "inode_under_writeback", "inode under writeback", 0;
    Flusher, "flusher", "the flusher to write dirty pages", 0;
    WritebackThrottling, "writeback_throttling", "block writeback throttling (wbt)", 0;
    IoLatency, "io_latency", "io.latency of its cgroup", 0;
    IoCost, "io_cost", "io.cost of its cgroup", 0;
    RequestTag, "request_tag", "request (tag)", 0;
    FrozenRequestQueue, "frozen_request_queue", "frozen request queue", 0;
    RequestQueueDrain, "request_queue_drain", "request queue to drain", 0;
    NfsLock, "nfs_lock", "NFS lock, possibly held by another client", 0;
    NetworkServer, "network_server", "server", 0;
    LustreGrant, "lustre_grant", "Lustre grant, or room for dirty pages", 0;
    LustreLock, "lustre_lock", "Lustre lock, possibly held by another client", 0;
    LustreServer, "lustre_server", "Lustre server", 0;
    FanotifyAnswer, "fanotify_answer", "answer of a fanotify listener", 0;
    FuseServer, "fuse_server", "FUSE server", 0;
    FileInodeLock, "file_inode_lock", "inode lock of a file", 0;
    DirectoryInodeLock, "directory_inode_lock", "inode lock of a directory", 0;
    MmapLock, "mmap_lock", "mmap lock", PROGRAMS_LOCK;
    InodeUnderReclaim, "inode_under_reclaim", "inode under reclaim", 0;
    FilePositionLock, "file_position_lock", "file position lock", 0;
    SystemWideLock, "system_wide_lock", "system-wide lock", 0;
    SameNameLookup, "same_name_lookup", "lookup of the same name by another task", 0;
    AnotherSync, "another_sync", "another sync of the same file system", 0;
    RcuGracePeriod, "rcu_grace_period", "RCU grace period", 0;
    InodeBeingFreed, "inode_being_freed", "inode being freed", 0;
    Flock, "flock", "file lock (flock)", PROGRAMS_LOCK;
    PosixLock, "posix_lock", "file lock (fcntl)", PROGRAMS_LOCK;
    FileLease, "file_lease", "file lease", PROGRAMS_LOCK;
    LockFile, "lock_file", "lock file", PROGRAMS_LOCK;
    Listener, "listener", "server that does not listen yet", 0;
    AnotherThread, "another_thread", "another thread", PROGRAMS_LOCK;
    BsdVnodeLock, "bsd_vnode_lock", "vnode lock (FreeBSD)", 0;
    BsdVnodeLocks, "bsd_vnode_locks", "vnode locks of files with dirty buffers (FreeBSD)", 0;
    BsdMutex, "bsd_mutex", "mutex (FreeBSD)", 0;
    PagesUnderWriteback, "pages_under_writeback", "pages under writeback", 0;
    BtrfsOrderedData, "btrfs_ordered_data", "btrfs ordered data under writeback", 0;
    PageLockedByWriter, "page_locked_by_writer", "dirty page locked by another writer", 0;
    MappedPage, "mapped_page", "page of a mapped file", 0;
    AsynchronousCompletions, "asynchronous_completions", "asynchronous I/O completions", 0;
    PageRead, "page_read", "page read", 0;
    SynchronousIo, "synchronous_io", "synchronous I/O", 0;
    DirectIo, "direct_io", "direct I/O", 0;
    MetadataIo, "metadata_io", "metadata block I/O", 0;
    Io, "io", "I/O", 0;
    BsdBlockIo, "bsd_block_io", "block I/O (FreeBSD)", 0;
    ConnectAnswer, "connect_answer", "answer to a connect", 0;
    ConnectionRoom, "connection_room", "room in a connection, whose receiver is behind", 0;
    BacklogRoom, "backlog_room", "room among the connections that a server has not accepted yet", 0;
    SocketRoom, "socket_room", "room in a socket, whose receiver is behind", 0;
    PipeRoom, "pipe_room", "room in a pipe, whose reader is behind", 0;
    TerminalRoom, "terminal_room", "terminal whose output is stopped (Ctrl-S), or whose reader is behind", 0;
    QueueRoom, "queue_room", "room in a message queue", 0;
    MemoryCgroupReclaim, "memory_cgroup_reclaim", "memory cgroup reclaim", 0;
    BufferOfCommit, "buffer_of_commit", "buffer held by the journal commit", 0;
    KernelLock, "kernel_lock", "a lock", 0;
    XfsBufferIo, "xfs_buffer_io", "XFS metadata buffer I/O", 0;
    JournalCheckpoint, "journal_checkpoint", "journal checkpoint", 0;
    RowLock, "row_lock", "row or table lock", PROGRAMS_LOCK;
    Asleep, "asleep", "asleep", PROGRAMS_LOCK;
    Read, "read", "read", 0;
    Write, "write", "write", WRITES;
    Discard, "discard", "write: discard", WRITES;
    OrderedData, "ordered_data", "write: data of a commit", WRITES;
    OwnWork, "own_work", "own", 0;
    WorkOfAnother, "work_of_another", "of another task", 0;
}

impl WaitKind {
    /// The name in remedies and in JSON.
    pub fn name(self) -> &'static str {
        TABLE[self as usize].name
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<WaitKind> {
        WaitKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// What the wait is for.
    pub fn words(self) -> &'static str {
        TABLE[self as usize].words
    }

    /// Whether it is a lock that a program takes, and holds for as long as it wants.
    pub fn is_programs_lock(self) -> bool {
        TABLE[self as usize].traits & PROGRAMS_LOCK != 0
    }

    /// Whether it is for a write.
    pub fn writes(self) -> bool {
        TABLE[self as usize].traits & WRITES != 0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::WaitKind;

    #[test]
    fn each_kind_has_a_name_and_words_of_its_own() {
        let names: HashSet<&str> = WaitKind::ALL.iter().map(|kind| kind.name()).collect();
        let words: HashSet<&str> = WaitKind::ALL.iter().map(|kind| kind.words()).collect();
        assert_eq!((names.len(), words.len()), (WaitKind::ALL.len(), WaitKind::ALL.len()));
        assert!(WaitKind::ALL.iter().all(|kind| WaitKind::from_name(kind.name()) == Some(*kind)));
        assert_eq!(WaitKind::from_name("file lock"), None);
    }
}
