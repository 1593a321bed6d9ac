//! The right to use a data directory, so that two runs do not use one at the same time.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{FlockOperation, Mode, OFlags, flock};

/// A lock (flock) on the directory itself. It ends with the process, also when that is killed; whoever removes a data
/// directory must take it first.
#[derive(Debug)]
pub struct DirectoryLock {
    _directory: File,
}

impl DirectoryLock {
    /// Takes a directory that is there. `Ok(None)`: another process has it.
    pub fn take(data_directory: &Path) -> io::Result<Option<DirectoryLock>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = File::from(rustix::fs::open(data_directory, flags, Mode::empty())?);
        match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
            taken => taken?,
        }
        // Somebody may have removed it between the two steps, and even have made another.
        let (held, there) = (directory.metadata()?, data_directory.symlink_metadata()?);
        let is_there = (held.dev(), held.ino()) == (there.dev(), there.ino());
        Ok(is_there.then_some(DirectoryLock { _directory: directory }))
    }
}
