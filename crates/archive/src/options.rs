//! Options of the writer, and the state of the writing.

use std::fmt;

use crate::table;

/// Options of a [`Writer`](crate::Writer).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriterOptions {
    /// Disk space reserved for a full disk; less if `size_limit_bytes` is small.
    pub reserve_bytes: u64,
    /// Maximum size of the directory, including the reserve. Reaching it is treated as a full disk.
    pub size_limit_bytes: Option<u64>,
    /// Whether a flush waits until its rows are on the disk. Without it, a crash of the machine (not of the program)
    /// may lose more than the last flush.
    pub sync: bool,
    /// Flushes whose rows are merged into one batch of each table's segment.
    pub consolidate_after_flushes: u32,
    /// Memory of flushed rows that triggers an earlier consolidation.
    pub consolidate_after_bytes: usize,
    /// Memory of one table's rows in one flush above which they go directly into the table's segment.
    pub direct_after_bytes: usize,
    /// Maximum memory of one table's rows between two flushes. Rows beyond it are counted as lost.
    pub pending_limit_bytes: usize,
    /// The same for each table of the tracer, whose rows come in bursts.
    pub trace_pending_limit_bytes: usize,
    /// Whether the run has the tracer's tables though nothing is traced: for what polls of blocked tasks see.
    pub is_polled: bool,
}

impl Default for WriterOptions {
    fn default() -> WriterOptions {
        WriterOptions {
            reserve_bytes: 16 << 20,
            size_limit_bytes: None,
            sync: true,
            consolidate_after_flushes: 60,
            consolidate_after_bytes: 4 << 20,
            direct_after_bytes: 2 << 20,
            pending_limit_bytes: 4 << 20,
            trace_pending_limit_bytes: 32 << 20,
            is_polled: false,
        }
    }
}

/// The result of a flush.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum FlushState {
    /// Everything is written.
    Whole,
    /// Some tables are no longer written, to make space for more important ones.
    Degraded {
        /// Their names, in the order they were given up.
        dropped: Vec<&'static str>,
        /// The error that forced it.
        why: String,
    },
    /// No more rows are accepted. The run should end; events and the close still have the rest of the reserve.
    Full {
        /// The error that forced it.
        why: String,
    },
}

impl FlushState {
    /// Whether samples, intervals and operations are still written, with or without a trace.
    pub fn keeps_figures(&self) -> bool {
        match self {
            FlushState::Whole => true,
            FlushState::Degraded { dropped, .. } => dropped.iter().all(|table| table::TRACED.contains(table)),
            FlushState::Full { .. } => false,
        }
    }
}

impl fmt::Display for FlushState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FlushState::Whole => f.write_str("everything is recorded"),
            FlushState::Degraded { dropped, why } => write!(f, "no longer recorded: {} ({why})", dropped.join(", ")),
            FlushState::Full { why } => write!(f, "nothing more can be recorded ({why})"),
        }
    }
}
