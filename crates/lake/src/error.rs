//! Errors of a lake, with remedies.

use std::io;
use std::path::{Path, PathBuf};

/// A lake that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum LakeError {
    /// The directory holds something else.
    #[error("{path}: is neither empty nor a lake; choose another directory with --to")]
    Foreign {
        /// The directory.
        path: PathBuf,
    },
    /// No lake.
    #[error("{path}: is not a lake; make one with 'stallscope lake add RUN... --to {path}'")]
    Missing {
        /// The directory.
        path: PathBuf,
    },
    /// The file system cannot exchange directories.
    #[error(
        "{path}: this file system cannot exchange two directories at once, so that a reader could miss rows; compact \
         the lake where it is on ext4, XFS, Btrfs or tmpfs (of NFS: on the server)"
    )]
    Exchange {
        /// The directory.
        path: PathBuf,
    },
    /// The marker is of another program or version.
    #[error(
        "{path}: its marker {marker} has schema version {found}, and this program knows version {known}; use the \
         program that wrote it"
    )]
    Version {
        /// The directory.
        path: PathBuf,
        /// The marker's name.
        marker: &'static str,
        /// What it holds.
        found: String,
        /// The version of this program.
        known: u32,
    },
    /// The system refused.
    #[error("{path}: cannot {what}: {source}")]
    Io {
        /// Which file or directory.
        path: PathBuf,
        /// Do what.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
}

impl LakeError {
    /// For `map_err`.
    pub(crate) fn io(path: &Path, what: &'static str) -> impl FnOnce(io::Error) -> LakeError {
        let path = path.to_owned();
        move |source| LakeError::Io { path, what, source }
    }
}
