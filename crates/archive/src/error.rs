//! Errors of a run directory.

use std::io;
use std::path::{Path, PathBuf};

use model::quantity::counted;

/// Why a run directory cannot be created or read.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// A system call failed.
    #[error("{path}: cannot {what}: {source}")]
    Io {
        /// File or directory.
        path: PathBuf,
        /// The operation.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A run never overwrites anything.
    #[error("{path}: already exists and is not empty; name another directory for the run")]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// The archive's file system has too little space.
    #[error(
        "{path}: {free_bytes} bytes are free on this file system and {needed_bytes} are needed to begin; free some, or \
         put the run elsewhere"
    )]
    NoSpace {
        /// The directory.
        path: PathBuf,
        /// Free space.
        free_bytes: u64,
        /// Space for the reserve and the first minute.
        needed_bytes: u64,
    },
    /// The size limit leaves no space for any row.
    #[error("a size limit of {limit_bytes} bytes is too small for a run; give at least {least_bytes}")]
    LimitTooSmall {
        /// The limit.
        limit_bytes: u64,
        /// The smallest possible limit.
        least_bytes: u64,
    },
    /// The directory lacks a file that every run has.
    #[error("{path}: not a run directory: {missing} is missing")]
    NotARun {
        /// The directory.
        path: PathBuf,
        /// Which file.
        missing: &'static str,
    },
    /// Nothing says which bytes of its tables count.
    #[error(
        "{path}: its journal is missing, and a run cannot be read without it; each of its tables, \
         NAME-0000.arrows, is an Arrow stream that pyarrow can open"
    )]
    NoJournal {
        /// The directory.
        path: PathBuf,
    },
    /// The run was written by a later version of the program.
    #[error("{path}: format {found} is newer than this program reads ({supported}); use a newer stallscope")]
    Newer {
        /// The run's description.
        path: PathBuf,
        /// Its format version.
        found: u32,
        /// The newest that can be read.
        supported: u32,
    },
    /// `run.json` does not hold a description.
    #[error("{path}: not a run description: {source}")]
    Description {
        /// The file.
        path: PathBuf,
        /// The syntax error and its position.
        source: serde_json::Error,
    },
    /// `set.json` does not describe a set.
    #[error("{path}: not the description of a set: {why}")]
    Set {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A batch that the journal lists is missing or altered. None of its rows is returned.
    #[error("{path}: {} of {table} at offset {offset} damaged: {why}", counted(*rows, "row"))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The table.
        table: String,
        /// Where the batch begins.
        offset: u64,
        /// How many rows it held.
        rows: u64,
        /// The check that failed.
        why: String,
    },
}

impl ArchiveError {
    /// For `map_err` on an operation with a path.
    pub(crate) fn io(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> ArchiveError {
        let path = path.to_owned();
        move |source| ArchiveError::Io { path, what, source }
    }
}
