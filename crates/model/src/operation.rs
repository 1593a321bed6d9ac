//! What a load did: operations, summed per interval and, where slow, recorded individually.

use serde::{Deserialize, Serialize};

/// The operation class of one round of a work actor: its steps are operations of their own classes, which a sum over
/// all operations must not count twice.
pub const ROUND: &str = "round";

/// A bucket of a latency histogram: how many operations took about this long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// Index in the layout of [`crate::latency`].
    pub index: u32,
    /// Operations in the bucket.
    pub count: u64,
}

/// All operations of one class that finished within one interval.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IntervalRecord {
    /// Phase of the run, by its recipe's name for it.
    pub phase: String,
    /// Operation class: `read`, `write`, `allocation`, `round`, ...
    pub class: String,
    /// Interval's start on the monotonic clock.
    pub start_ns: u64,
    /// Interval's end on the monotonic clock.
    pub end_ns: u64,
    /// Operations that finished, whether or not they failed.
    pub count: u64,
    /// Operations among them that failed.
    pub errors: u64,
    /// Bytes that the finished operations moved.
    pub bytes: u64,
    /// Sum of the latencies, exact.
    pub sum_ns: u64,
    /// Longest latency, exact; `None` when nothing finished.
    pub max_ns: Option<u64>,
    /// Latency histogram, ascending by index, empty buckets left out.
    pub buckets: Vec<Bucket>,
    /// Operations still running at the interval's end for longer than the run's stuck threshold.
    pub stuck: u64,
    /// Age of the oldest operation still running at the interval's end, of any age; `None` if there is none.
    pub oldest_running_ns: Option<u64>,
}

/// Why an operation is recorded individually.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationKind {
    /// It finished, and took longer than the run's threshold.
    Slow,
    /// It had not finished when an interval ended; `duration_ns` is its age then. It may appear again.
    Stuck,
    /// It failed.
    Failed,
}

impl OperationKind {
    /// The name stored in the archive.
    pub fn name(self) -> &'static str {
        match self {
            OperationKind::Slow => "slow",
            OperationKind::Stuck => "stuck",
            OperationKind::Failed => "failed",
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<OperationKind> {
        [OperationKind::Slow, OperationKind::Stuck, OperationKind::Failed].into_iter().find(|kind| kind.name() == name)
    }
}

/// How an operation failed without an error number, or in spite of success.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Fewer bytes could be read than the file should hold.
    ShortRead,
    /// Fewer bytes were written than asked for, without an error.
    ShortWrite,
    /// The data read were never written there by this load.
    Wrong,
    /// The block is a mix of two writes.
    Torn,
    /// The block holds an older write than the last acknowledged one.
    Stale,
    /// The block belongs to another location.
    Misplaced,
}

impl Fault {
    /// All of them; the index here is a fault's number on a load's board.
    pub const ALL: [Fault; 6] =
        [Fault::ShortRead, Fault::ShortWrite, Fault::Wrong, Fault::Torn, Fault::Stale, Fault::Misplaced];

    /// The name stored in the archive.
    pub fn name(self) -> &'static str {
        match self {
            Fault::ShortRead => "short_read",
            Fault::ShortWrite => "short_write",
            Fault::Wrong => "wrong",
            Fault::Torn => "torn",
            Fault::Stale => "stale",
            Fault::Misplaced => "misplaced",
        }
    }

    /// The fault of that name.
    pub fn from_name(name: &str) -> Option<Fault> {
        Fault::ALL.into_iter().find(|fault| fault.name() == name)
    }
}

/// An operation recorded individually.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationRecord {
    /// Why it is recorded.
    pub kind: OperationKind,
    /// Operation class, as in [`IntervalRecord::class`].
    pub class: String,
    /// Kernel thread id of the thread that ran it; of the waiting thread, for fork-join operations.
    pub tid: u32,
    /// Start on the monotonic clock: the intended start where the load is paced.
    pub start_ns: u64,
    /// Latency, or age when stuck.
    pub duration_ns: u64,
    /// Bytes moved, where the operation moves any.
    pub bytes: Option<u64>,
    /// `errno` of the failure.
    pub errno: Option<i32>,
    /// File it worked on.
    pub path: Option<String>,
    /// Offset in the file where it failed, if known.
    pub offset_bytes: Option<u64>,
    /// How it failed without an error number.
    pub fault: Option<Fault>,
}
