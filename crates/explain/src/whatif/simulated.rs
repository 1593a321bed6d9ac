//! Turns of simulated threads.

use model::cause::Cause;
use model::wait_kind::WaitKind;

use crate::waits::{Waiting, Waits};

/// A turn of a simulation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Simulated {
    pub(super) tid: u32,
    /// Of a limit on reads, not on writes.
    pub(super) reads: bool,
    pub(super) start_ns: u64,
    pub(super) duration_ns: u64,
    /// The recorded turn whose rest it has; `None` where the limit delayed it, which is not by chance.
    pub(super) like: Option<usize>,
}

impl Simulated {
    pub(super) fn is_slow_by_limit(&self, waits: &Waits) -> bool {
        self.like.is_none() && self.duration_ns >= waits.slower_than_ns
    }
}

/// Whether such a limit delays what a path leads to. That of an unknown kind may be either.
pub(super) fn is_throttled(waits: &Waits, path: u32, reads: bool) -> bool {
    let is_it = |kind: WaitKind| if reads { kind == WaitKind::Read } else { kind.writes() };
    waits.paths[path as usize].iter().any(|step| step.cause == Cause::IoThrottle && step.kind.is_none_or(is_it))
}

/// Whether such a limit delayed an operation.
pub(super) fn is_delayed(waits: &Waits, operation: &Waiting, reads: bool) -> bool {
    operation.pieces.iter().any(|(path, _)| is_throttled(waits, *path, reads))
}
