//! bufdaemon's state.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The top of its loop.
    Top,
    /// Whether there is more to flush.
    Check,
    /// It looks for a buffer to flush.
    Scan,
    /// It has started a write of this file.
    Started(usize),
    /// It goes to sleep.
    Sleep,
}

#[derive(Debug)]
pub(super) struct Daemon {
    pub(super) step: Step,
    /// Earlier appointments are void.
    pub(super) appointment: u64,
    pub(super) asleep: bool,
    /// It waits for runningbufspace to fall.
    pub(super) drains: bool,
    /// Start of its rest, when it could flush nothing, or drains.
    pub(super) rests_ns: Option<u64>,
    /// `bd_request`: it has been requested already.
    pub(super) request: bool,
    /// `bd_speedupreq`: a task needs space.
    pub(super) speedup: bool,
    pub(super) low: u64,
    pub(super) target: u64,
    pub(super) flushed: u64,
}

impl Daemon {
    pub(super) fn new() -> Daemon {
        Daemon {
            step: Step::Top,
            appointment: 0,
            asleep: true,
            drains: false,
            rests_ns: None,
            request: false,
            speedup: false,
            low: 0,
            target: 0,
            flushed: 0,
        }
    }
}
