//! What tasks wait for.

/// What a task waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Await {
    /// Idle; not reported.
    Work,
    /// mmap_sem.
    Space,
    /// Its own threads.
    Join,
    /// A read of the page cache.
    Read(u8),
    /// Dirty-page throttling.
    Throttle,
    /// An inode's flush lock.
    Flush(u8, u32),
    /// Its own write of an inode cluster.
    OwnWrite(u8, u32),
    /// An inode to be unpinned.
    Unpin(u8, u32),
    /// Its own read of a cluster.
    BufferRead(u8, u32),
    /// A cluster's buffer that another task reads or writes.
    BufferLock(u8, u32),
    /// The same in reclaim, which retries after two ticks.
    Backoff(u8, u32),
    /// A group's reclaim lock.
    Group(u8, u32),
    /// An inode that a reclaimer is about to free.
    Grabbed(u8, u32),
    /// The log.
    Log(u8),
    /// A pause of reclaim that found no clean page.
    Congestion,
    /// A pause of reclaim, until an inode has been written.
    Progress(u8),
}
