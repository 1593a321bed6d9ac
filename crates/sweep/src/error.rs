//! Errors of a sweep, with remedies.

use std::path::{Path, PathBuf};

/// A sweep that cannot be read or resumed.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not a sweep.
    #[error("{path}: {message}")]
    Mistake {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        message: String,
    },
    /// The folder holds another sweep, or something else.
    #[error("{path} {why}; choose another directory with --out")]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// What it holds.
        why: String,
    },
    /// The folder's own files cannot be written or read.
    #[error("{path}: {source}")]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// An invalid part of a sweep.
    #[error("--shard {text}: {why}")]
    Shard {
        /// As given.
        text: String,
        /// What is wrong with it.
        why: String,
    },
}

impl SweepError {
    pub(crate) fn folder(path: &Path) -> impl FnOnce(std::io::Error) -> SweepError {
        let path = path.to_owned();
        move |source| SweepError::Folder { path, source }
    }
}
