//! The actors of a plan.

use serde::{Deserialize, Serialize};

use crate::job::Job;
use crate::recipe::{Access, Pacing, WriteSync};
use crate::work::ThreadGroup;

/// Threads that all do the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Actor {
    /// Its name in the recipe, which its threads carry.
    pub name: String,
    /// How many threads.
    pub threads: u64,
    /// Number of directories that it uses: the first ones.
    pub directories: usize,
    /// Memory that each thread holds.
    pub holds_bytes: u64,
    /// Rounds per second, total of all its threads; `None`: closed loop.
    pub rate_per_s: Option<f64>,
    /// The arrival distribution of paced rounds.
    pub pacing: Pacing,
    /// Class of its rounds, if they are timed.
    pub round_class: Option<usize>,
    /// For each phase of the plan, whether it is active.
    pub in_phase: Vec<bool>,
    /// The steps of a round.
    pub steps: Vec<RoundStep>,
    /// Its job, instead of rounds.
    pub job: Option<Job>,
    /// Whether each of its threads is a process.
    pub processes: bool,
    /// Whether phases do not wait for its job.
    pub background: bool,
}

/// One step of a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundStep {
    /// Class of its operations; `None`: they are not timed.
    pub class: Option<usize>,
    /// Its work.
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

/// A read, a write, or the creation of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileTransfer {
    /// Its direction.
    pub direction: TransferDirection,
    /// Index of the file set.
    pub set: usize,
    /// Bytes per operation, or per thread of a fork-join operation.
    pub bytes: u64,
    /// Bytes per system call.
    pub block_bytes: u64,
    /// The access pattern.
    pub access: Access,
    /// The sync call after each write.
    pub sync: WriteSync,
    /// Threads that each operation starts and joins; `None`: the actor's thread does it.
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
    /// Write a new file and rename it over the old one.
    Create,
}

impl Actor {
    /// Its threads, as they work together.
    pub(crate) fn group(&self) -> ThreadGroup {
        let Actor { threads, directories, rate_per_s, pacing, .. } = *self;
        ThreadGroup { threads, directories, rate_per_s, pacing }
    }
}
