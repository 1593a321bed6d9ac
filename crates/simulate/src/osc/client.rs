//! A client's state of its targets and files.

use std::collections::VecDeque;

/// A client's connection to a target: `client_obd`.
#[derive(Debug, Default)]
pub(super) struct Osc {
    pub(super) client: usize,
    pub(super) target: usize,
    pub(super) dirty_pages: u64,
    pub(super) grant_pages: u64,
    pub(super) in_flight: u64,
    /// Writers in osc_enter_cache.
    pub(super) waiters: VecDeque<usize>,
    pub(super) work_queued: bool,
    pub(super) high_priority: VecDeque<usize>,
    pub(super) ready: VecDeque<usize>,
    pub(super) write: VecDeque<usize>,
}

/// A file on a client, as the flusher knows it.
#[derive(Debug, Clone, Default)]
pub(super) struct Inode {
    /// When it became dirty. `None`: clean.
    pub(super) dirty_since_ns: Option<u64>,
}
