//! Bios.

use model::block::Kind;

/// A bio that a task submits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bio {
    /// The task that submits it.
    pub(super) task: u32,
    /// The task's tag for it.
    pub(super) tag: u64,
    pub(super) kind: Kind,
    pub(super) sector: u64,
    pub(super) sectors: u32,
    /// Service time, if it is known and not drawn.
    pub(super) service_ns: Option<u64>,
}
