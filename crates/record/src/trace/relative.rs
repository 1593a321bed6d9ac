//! Families of processes.

/// A process of which others are descended.
pub(super) struct Relative {
    pub(super) name: String,
    pub(super) start_ns: u64,
    pub(super) parent: u32,
}
