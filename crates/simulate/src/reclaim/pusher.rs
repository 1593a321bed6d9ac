//! The threads of a file system, and what xfsaild remembers.

/// Threads of a file system.
#[derive(Debug, Clone, Copy)]
pub(super) struct Daemon {
    pub(super) pusher: u32,
    pub(super) flusher: u32,
}

/// xfsaild of a file system.
#[derive(Debug)]
pub(super) struct Pusher {
    pub(super) fs: u8,
    /// Its position in the AIL. `None`: it rests.
    pub(super) at: Option<usize>,
    /// It has found pinned inodes: the log must be forced first.
    pub(super) force: bool,
    /// Clusters to write, each once.
    pub(super) clusters: Vec<u32>,
}

impl Pusher {
    pub(super) fn new(fs: u8) -> Pusher {
        Pusher { fs, at: None, force: false, clusters: Vec::new() }
    }
}
