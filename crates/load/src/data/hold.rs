//! The lock of a data directory, which excludes a second run.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{FlockOperation, Mode, OFlags, flock};

/// A lock (flock) on the directory itself. It ends with the process, even if that is killed. Removing a data directory
/// requires the lock.
#[derive(Debug)]
pub struct DirectoryLock {
    _directory: File,
}

impl DirectoryLock {
    /// Locks an existing directory. `Ok(None)`: another process holds the lock.
    pub fn take(data_directory: &Path) -> io::Result<Option<DirectoryLock>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = File::from(rustix::fs::open(data_directory, flags, Mode::empty())?);
        match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
            taken => taken?,
        }
        // Another process may have removed or recreated it between the two steps.
        let (locked, current) = (directory.metadata()?, data_directory.symlink_metadata()?);
        let is_current = (locked.dev(), locked.ino()) == (current.dev(), current.ino());
        Ok(is_current.then_some(DirectoryLock { _directory: directory }))
    }
}
