//! Why a source of metrics could not be read.

use std::path::PathBuf;

use rustix::io::Errno;

/// Why a source could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// A file could not be opened or read.
    #[error("{}: {errno}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The kernel's answer.
        errno: Errno,
    },
    /// A tracepoint could not be counted.
    #[error("perf_event_open of {event} on CPU {cpu}: {errno}")]
    Counter {
        /// `category:event`.
        event: String,
        /// The CPU.
        cpu: u32,
        /// The kernel's answer.
        errno: Errno,
    },
}

impl SourceError {
    /// The file is no more: its device or mount went away.
    pub(crate) fn means_gone(&self) -> bool {
        matches!(self, SourceError::Read { errno: Errno::NOENT | Errno::NODEV, .. })
    }
}
