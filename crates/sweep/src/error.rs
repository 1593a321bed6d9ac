//! What can be wrong with a sweep, and what to do about it.

use std::path::{Path, PathBuf};

/// A sweep that cannot be read, or not be gone on with.
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
    /// The file is no sweep.
    #[error("{path}: {message}")]
    Mistake {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        message: String,
    },
    /// The folder holds another sweep, or something else.
    #[error("{path} {why}; give another folder with --out")]
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
    /// A part of a sweep that there is not.
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
