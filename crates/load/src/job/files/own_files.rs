//! The files of one thread, with paths relative to the set's directory.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::subdirectories::Subdirectories;
use crate::data::{FileId, FileName, FileNames};

/// The files of one thread.
pub(super) struct OwnFiles {
    pub(super) set: usize,
    /// How many files.
    pub(super) count: u64,
    pub(super) subdirectories: Subdirectories,
    /// Bytes of one read or write.
    pub(super) block_bytes: u64,
    pub(super) directory: usize,
    /// Number of its first file.
    pub(super) first: u64,
    pub(super) root: OwnedFd,
    /// The current file.
    pub(super) name: FileName,
}

impl OwnFiles {
    /// Selects the thread's file number `index`, in `subdirectory` if the number does not imply one.
    pub(super) fn take(&mut self, names: &FileNames, index: u64, subdirectory: u64) -> FileId {
        let file = names.file(self.first + index, subdirectory);
        names.write(file, &mut self.name);
        FileId::new(self.directory, self.set, file)
    }

    pub(super) fn open(&mut self, flags: OFlags) -> Result<OwnedFd, Errno> {
        access::open_within(self.root.as_fd(), self.name.as_c_str(), flags)
    }

    /// Creates the file, and its subdirectory if it is missing.
    pub(super) fn create(&mut self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC;
        match (self.open(flags), self.name.subdirectory()) {
            (Err(Errno::NOENT), Some(subdirectory)) => {
                match rustix::fs::mkdirat(&self.root, subdirectory, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => self.open(flags),
                    Err(errno) => Err(errno),
                }
            }
            (opened, _) => opened,
        }
    }
}
