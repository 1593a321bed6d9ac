//! simoop: the state of its workers and of their threads.

/// A worker's round: touch, read, write, allocate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    pub(super) step: RoundStep,
    /// The current operation is a write, not a read.
    pub(super) writes: bool,
    /// Threads started, and threads still running.
    pub(super) started: u32,
    pub(super) running: u32,
    pub(super) operation_ns: u64,
    pub(super) round_ns: u64,
    /// Pages left to touch.
    pub(super) left: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum RoundStep {
    Touch,
    Start,
    Started,
    Join,
    Map,
    Mapped,
    Fault,
    Faulted,
    Touched,
    Unmap,
    Unmapped,
}

/// A thread that reads or writes once.
#[derive(Debug, Clone, Copy)]
pub(super) struct IoThread {
    pub(super) step: IoStep,
    pub(super) parent: u32,
    pub(super) writes: bool,
    pub(super) fs: u8,
    pub(super) ino: u32,
    /// Pages done.
    pub(super) done: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IoStep {
    Fault,
    Faulted,
    Touched,
    Open,
    Read,
    Submit,
    Got,
    Throttle,
    Write,
    Copied,
    Unmap,
    Unmapped,
}

impl Round {
    pub(super) fn new() -> Round {
        let step = RoundStep::Touch;
        Round { step, writes: false, started: 0, running: 0, operation_ns: 0, round_ns: 0, left: 0 }
    }
}

impl IoThread {
    pub(super) fn new(parent: u32) -> IoThread {
        IoThread { step: IoStep::Fault, parent, writes: false, fs: 0, ino: 0, done: 0 }
    }

    /// Whether the pages that it needs are for the page cache.
    pub(super) fn fills_cache(self) -> bool {
        matches!(self.step, IoStep::Submit | IoStep::Write)
    }

    /// Whether it waits for mmap_sem in a page fault.
    pub(super) fn faults(self) -> bool {
        self.step == IoStep::Fault
    }
}
