//! A file that only grows and never keeps a partial append.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::disk;
use crate::space::Space;

/// A failure after which nobody knows what is on the disk. It is not that of a full one, so that nothing is written
/// again.
const UNCERTAIN: &str = "what could not be synced cannot be taken back";

/// A file open for appending.
#[derive(Debug)]
pub(crate) struct AppendFile {
    file: File,
    path: PathBuf,
    length: u64,
    /// False once the file may hold data past `length` or lack data before it. Such a file is never appended to.
    sound: bool,
}

impl AppendFile {
    /// Makes a new, empty file.
    pub(crate) fn create(path: &Path) -> io::Result<AppendFile> {
        Ok(AppendFile { file: disk::create(path)?, path: path.to_owned(), length: 0, sound: true })
    }

    /// Appends all of `bytes` or nothing, and returns where they begin.
    pub(crate) fn append(&mut self, bytes: &[u8], space: &mut Space) -> io::Result<u64> {
        if !self.sound {
            return Err(io::Error::other("an earlier write to this file failed"));
        }
        space.admit(bytes.len() as u64)?;
        let offset = self.length;
        if let Err(error) = disk::write_at(&self.file, bytes, offset) {
            self.cut_back(offset, space);
            // Else a crash of the machine could bring back a part of it beneath what is written next.
            self.sound &= disk::sync_all(&self.file).is_ok();
            return Err(error);
        }
        self.length += bytes.len() as u64;
        space.wrote(bytes.len() as u64);
        Ok(offset)
    }

    /// Truncates the file to `length`.
    pub(crate) fn cut_back(&mut self, length: u64, space: &mut Space) {
        self.sound &= disk::set_length(&self.file, length).is_ok();
        space.gave_back(self.length - length);
        self.length = length;
    }

    /// Truncates the file after a sync that failed, for good: without a sync of its own, a crash of the machine could
    /// bring back what is written again elsewhere, or nowhere.
    pub(crate) fn take_back(&mut self, length: u64, space: &mut Space) -> io::Result<()> {
        self.cut_back(length, space);
        let taken = disk::sync_all(&self.file);
        self.sound &= taken.is_ok();
        taken.map_err(|error| io::Error::other(format!("{UNCERTAIN}: {error}")))
    }

    /// Waits until everything appended is on the disk. After an error the file is not continued: the kernel may have
    /// dropped what it could not write, and reports that only once.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        let outcome = disk::sync(&self.file);
        self.sound &= outcome.is_ok();
        outcome
    }

    /// Whether it can be appended to.
    pub(crate) fn is_sound(&self) -> bool {
        self.sound
    }

    /// Bytes appended.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// The open file.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// The name within the run directory.
    pub(crate) fn name(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Deletes the file. A reader that has it open can continue to read it.
    pub(crate) fn remove(self, space: &mut Space) {
        if disk::remove(&self.path).is_ok() {
            space.gave_back(self.length);
        }
    }
}
