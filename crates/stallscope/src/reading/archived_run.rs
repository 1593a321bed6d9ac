//! Opening a run directory.

use std::path::Path;

use archive::{ArchiveError, Run};

use crate::ui::failure::Failure;

/// Opens a run; it may still be recording.
pub fn open(directory: &Path) -> Result<Run, Failure> {
    Run::open(directory).map_err(unreadable)
}

/// A run that cannot be read is a wrong path or file (usage), unless the system failed.
pub fn unreadable(error: ArchiveError) -> Failure {
    match error {
        ArchiveError::Io { ref source, .. } if is_absent(source) => Failure::usage(error),
        ArchiveError::Io { .. } => Failure::machine(error),
        _ => Failure::usage(error),
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}
