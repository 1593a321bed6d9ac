//! The data directories: paths of the files, and the marker that identifies a data directory.
//!
//! In each given directory, all files are in one subdirectory `stallscope-RECIPE`, the data directory. A marker
//! file in it is written first and removed last. A directory of that name without a
//! marker is never touched. A lock ([`DirectoryLock`]) reserves a data directory for one run.
//!
//! A data directory may lie in a directory of another user, who can replace it at any time. So it is opened once, and
//! files beneath it are reached from there, without a link. No other user may be able to write into it: it belongs to
//! this user, root, or the caller of `sudo`, is not writable by all, and what a fill does not make itself is removed
//! first. Hence names beneath are the load's own.

mod file_set;
mod hold;
mod marker;
mod names;
pub mod remove;

pub use file_set::{FileId, FileSet, file_path};
pub(crate) use file_set::{FilePlace, name_within};
pub use hold::DirectoryLock;
pub use marker::{DataDirectoryStatus, FillState, MARKER, Marker, data_directory_status, directory_name, ledger_of};
pub(crate) use marker::{status_of, status_of_open};
pub(crate) use names::FILES_PER_DIRECTORY;
pub use names::{FileName, FileNames, ItemTree};
pub(crate) use remove::tree as remove_tree;
