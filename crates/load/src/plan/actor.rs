//! What the threads of the load do, in numbers.

use serde::{Deserialize, Serialize};

use crate::job::Job;
use crate::recipe::{Access, Pacing, WriteSync};
use crate::work::ThreadGroup;

/// Some threads that all do the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Actor {
    /// Recipe's name for it; its threads carry it.
    pub name: String,
    /// How many threads.
    pub threads: u64,
    /// It uses the first so many directories.
    pub directories: usize,
    /// Memory that each thread holds.
    pub holds_bytes: u64,
    /// Rounds per second of all its threads together; `None`: each round follows the one before.
    pub rate_per_s: Option<f64>,
    /// How paced rounds are spread.
    pub pacing: Pacing,
    /// Class of its rounds, if they are timed.
    pub round_class: Option<usize>,
    /// Whether it acts in each of the plan's phases.
    pub in_phase: Vec<bool>,
    /// What a round is.
    pub steps: Vec<RoundStep>,
    /// What it does instead of rounds.
    pub job: Option<Job>,
    /// Whether each of its threads is a process.
    pub processes: bool,
    /// Whether a phase does not wait for the end of its job.
    pub background: bool,
}

/// One step of a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundStep {
    /// Class of its operations; `None`: they are not timed.
    pub class: Option<usize>,
    /// What to do.
    pub work: StepWork,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum StepWork {
    /// Move bytes between memory and files.
    Transfer(FileTransfer),
    /// `fsync` the file used last.
    Fsync,
    /// Map, touch and unmap memory.
    Allocate {
        /// How much.
        bytes: u64,
    },
    /// Touch the memory held.
    Touch,
    /// Keep a CPU busy.
    Burn {
        /// How long.
        duration_ns: u64,
    },
    /// Walk and stat.
    Walk {
        /// Only this set; `None`: the whole data directory.
        set: Option<usize>,
    },
    /// Sleep.
    Pause {
        /// How long.
        duration_ns: u64,
    },
}

/// A read, a write, or the making of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileTransfer {
    /// Which of them.
    pub direction: TransferDirection,
    /// Index of the file set.
    pub set: usize,
    /// Bytes per operation, or per thread of a fork-join operation.
    pub bytes: u64,
    /// Bytes per system call.
    pub block_bytes: u64,
    /// Where in the files.
    pub access: Access,
    /// What makes a write durable.
    pub sync: WriteSync,
    /// Threads that are started for each operation and joined at its end; `None`: the actor's own thread does it.
    pub fork: Option<u64>,
}

/// What a transfer does to its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransferDirection {
    /// Read.
    Read,
    /// Overwrite.
    Write,
    /// Write anew and rename over.
    Create,
}

impl Actor {
    /// Its threads, as they work together.
    pub(crate) fn group(&self) -> ThreadGroup {
        let Actor { threads, directories, rate_per_s, pacing, .. } = *self;
        ThreadGroup { threads, directories, rate_per_s, pacing }
    }
}
