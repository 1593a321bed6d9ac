//! Bios.

use model::block::Kind;

/// Something that a task hands to the block layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bio {
    /// Whose.
    pub(super) task: u32,
    /// The task's word for it.
    pub(super) tag: u64,
    pub(super) kind: Kind,
    pub(super) sector: u64,
    pub(super) sectors: u32,
    /// How long the device works on it, where it need not be drawn.
    pub(super) service_ns: Option<u64>,
}
