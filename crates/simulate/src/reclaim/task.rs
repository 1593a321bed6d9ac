//! The tasks.

use super::du::Walker;
use super::pusher::Pusher;
use super::reclaimer::Reclaim;
use super::simoop::{IoThread, Round};
use super::waits::Await;
use super::walk::Walk;

/// What a task runs.
#[derive(Debug)]
pub(super) enum Body {
    Worker(Round),
    Io(IoThread),
    Du(Walker),
    Kswapd,
    Pusher(Pusher),
    /// The background inode reclaim worker of a file system.
    Background(u8, Option<Box<Walk>>),
    /// The flusher of a file system: it never waits.
    Flusher,
}

/// A thread of the program or the kernel.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) body: Body,
    /// It is reclaiming memory.
    pub(super) reclaim: Option<Box<Reclaim>>,
    /// Pages that it needs before it can continue.
    pub(super) need: u64,
    /// Pages that it has allocated.
    pub(super) pages: u64,
    /// It holds mmap_sem.
    pub(super) holds: bool,
    pub(super) waits: Option<(Await, u64)>,
    pub(super) on_cpu: bool,
    pub(super) stay: u32,
}

impl Task {
    pub(super) fn new(body: Body) -> Task {
        Task { body, reclaim: None, need: 0, pages: 0, holds: false, waits: None, on_cpu: false, stay: 0 }
    }
}
