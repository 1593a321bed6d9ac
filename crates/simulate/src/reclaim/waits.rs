//! Purpose tasks wait for.

/// Purpose a task waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Await {
    /// Nothing: it has no work, and nobody wants to know.
    Work,
    /// mmap_sem.
    Space,
    /// The threads that it started.
    Join,
    /// A read of the page cache.
    Read(u8),
    /// Fewer dirty pages.
    Throttle,
    /// An inode's flush lock.
    Flush(u8, u32),
    /// An inode's cluster that it writes itself.
    OwnWrite(u8, u32),
    /// An inode to be unpinned.
    Unpin(u8, u32),
    /// A cluster that it reads itself.
    BufferRead(u8, u32),
    /// A cluster's buffer that somebody else reads or writes.
    BufferLock(u8, u32),
    /// The same, in reclaim, which looks again after two ticks.
    Backoff(u8, u32),
    /// A group's reclaim lock.
    Group(u8, u32),
    /// An inode that somebody is about to free.
    Grabbed(u8, u32),
    /// The log.
    Log(u8),
    /// A pause of reclaim that found nothing clean.
    Congestion,
    /// A pause of reclaim, until an inode has been written.
    Progress(u8),
}
