//! The data directories: paths of the files, and the marker that identifies a data directory.
//!
//! In each given directory, all files are in one subdirectory `stallscope-RECIPE`, the data directory. A marker
//! file in it is written first and removed last. A directory of that name without a
//! marker is never touched. A lock ([`DirectoryLock`]) reserves a data directory for one run.

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
pub use names::{FileName, FileNames, ItemTree};
pub(crate) use remove::tree as remove_tree;
