//! The lock of a data directory, which excludes a second run.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use access::Directory;
use rustix::fs::{FlockOperation, flock};

/// A data directory, open. With a lock (flock) on the directory itself, which ends with the process, even if that is
/// killed: removing a data directory requires it.
#[derive(Debug)]
pub struct DirectoryLock {
    directory: Directory,
}

impl DirectoryLock {
    /// Locks an existing directory. `Ok(None)`: another process holds the lock.
    pub fn take(data_directory: &Path) -> io::Result<Option<DirectoryLock>> {
        let directory = Directory::open(data_directory)?;
        match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
            taken => taken?,
        }
        // Another process may have removed or recreated it between the two steps.
        let (locked, current) = (directory.metadata()?, data_directory.symlink_metadata()?);
        let is_current = (locked.dev(), locked.ino()) == (current.dev(), current.ino());
        Ok(is_current.then_some(DirectoryLock { directory }))
    }

    /// A directory that another process of the same run has locked.
    pub(crate) fn shared(directory: Directory) -> DirectoryLock {
        DirectoryLock { directory }
    }

    /// The directory.
    pub(crate) fn directory(&self) -> &Directory {
        &self.directory
    }
}
