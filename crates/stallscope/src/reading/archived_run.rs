//! Opening a run directory.

use std::path::Path;

use archive::{ArchiveError, Run};

use crate::ui::failure::Failure;

/// Opens a run, which may still be recording, and compares all its data with their checksums: what a command says of a
/// run depends on what the run lacks, also of tables that it does not read.
pub fn open(directory: &Path) -> Result<Run, Failure> {
    let run = open_again(directory)?;
    run.verify();
    Ok(run)
}

/// Opens a run that was verified before.
pub fn open_again(directory: &Path) -> Result<Run, Failure> {
    // The user named a directory: an error about a file in it would not say what is wrong.
    let wrong = |why: &str| Failure::usage(format_args!("{}: {why}", directory.display()));
    match std::fs::metadata(directory) {
        Ok(metadata) if !metadata.is_dir() => Err(wrong("is a file; a run is a directory")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(wrong("no such directory")),
        Ok(_) | Err(_) => Run::open(directory).map_err(unreadable),
    }
}

/// A run that cannot be read is a wrong path or file (usage), unless the system failed.
pub fn unreadable(error: ArchiveError) -> Failure {
    match &error {
        ArchiveError::Io { source, .. } => Failure::path(source, &error),
        _ => Failure::usage(error),
    }
}
