//! Times in which a request queue was frozen.

/// A time in which a task kept a request queue frozen until its requests had completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Drain {
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
    pub(crate) tid: u32,
}
