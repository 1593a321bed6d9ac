//! The totals of a plan, and refusals.

use serde::{Deserialize, Serialize};

/// The totals of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PlanTotals {
    /// Threads of the actors.
    pub threads: u64,
    /// Maximum concurrent threads, including fork-join threads.
    pub peak_threads: u64,
    /// Bytes that the fill writes; files kept from an earlier run are not written again.
    pub bytes_to_write: u64,
    /// Bytes in all files.
    pub data_bytes: u64,
    /// Maximum memory in use.
    pub memory_bytes: u64,
    /// Available memory.
    pub memory_available_bytes: u64,
    /// Free space before and after the fill, per file system.
    pub file_systems: Vec<FileSystemSpace>,
}

/// Free space of a file system, which several directories may share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystemSpace {
    /// The user's directories on it.
    #[serde(with = "access::path::each")]
    pub directories: Vec<std::path::PathBuf>,
    /// Free now.
    pub free_bytes: u64,
    /// Space that the plan needs.
    pub needed_bytes: u64,
    /// Free after the fill; 0 if it does not fit.
    pub left_bytes: u64,
}

/// Why a plan cannot be run here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// What does not fit, with both figures.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
}
