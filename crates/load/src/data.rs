//! The data directories: where files lie, and how our own are told from anybody else's.
//!
//! In each directory that the user gives, everything of ours lies in one subdirectory `stallscope-RECIPE`. A marker
//! file in it is written before anything else and removed after everything else. A directory of that name without a
//! marker is never touched. One run uses a data directory at a time, by a lock ([`DirectoryLock`]).

mod file_set;
mod hold;
mod marker;
mod names;
pub mod remove;

pub use file_set::{FileId, FileSet, file_path};
pub use hold::DirectoryLock;
pub(crate) use marker::status_of;
pub use marker::{DataDirectoryStatus, FillState, MARKER, Marker, data_directory_status, directory_name, ledger_of};
pub(crate) use names::FILES_PER_DIRECTORY;
pub use names::{FileName, FileNames};
pub(crate) use remove::tree as remove_tree;
