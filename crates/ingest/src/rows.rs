//! What a source reports.

/// An operation of the workload, or of the kernel on its behalf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation<'a> {
    /// `read`, `write`, `fsync`, ...: the classes of recordings, wherever they mean the same.
    pub class: &'a str,
    /// The task.
    pub tid: u32,
    /// Start.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
    /// Bytes transferred; 0 if the class transfers none.
    pub bytes: u64,
}

/// A task was off the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// The task.
    pub tid: u32,
    /// Start.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
    /// The stack in the kernel, as [`crate::RunWriter::stack`] numbered it: what explanations are made from.
    pub stack: u32,
    /// The task that ended the wait, if a task did; 0: an interrupt.
    pub waker_tid: Option<u32>,
    /// The request whose completion ended the wait: [`model::stall::RequestRecord::request`].
    pub request: Option<u32>,
}
