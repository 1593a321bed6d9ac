//! Removal of data directories, and nothing else.

use std::ffi::{CString, OsStr};
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use access::Directory;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

use super::hold::DirectoryLock;
use super::marker::{DataDirectoryStatus, MARKER, status_of};
use crate::error::LoadError;

/// Removes the data of `recipe` at `data_directory` (`.../stallscope-RECIPE`). Missing data is no error.
///
/// Only a directory with a marker is touched. Symbolic links are removed, not followed; another file system
/// mounted inside is an error. The marker is removed last, so an interrupted removal can be repeated.
pub fn data_directory(recipe: &str, data_directory: &Path) -> Result<(), LoadError> {
    match status_of(recipe, data_directory) {
        DataDirectoryStatus::Absent => return Ok(()),
        DataDirectoryStatus::Foreign(why) => return Err(LoadError::Foreign { path: data_directory.to_owned(), why }),
        _ => {}
    }
    let hold = DirectoryLock::take(data_directory).map_err(LoadError::data("lock", data_directory))?;
    let hold = hold.ok_or_else(|| LoadError::InUse { path: data_directory.to_owned() })?;
    let failed = |error: rustix::io::Errno| LoadError::data("remove", data_directory)(error.into());
    let directory = hold.directory();
    let file_system = rustix::fs::fstat(directory).map_err(failed)?.st_dev;
    TreeRemoval { file_system, path: data_directory.to_owned() }.clear(directory.as_fd(), Some(MARKER))?;
    rustix::fs::unlinkat(directory, MARKER, AtFlags::empty()).map_err(failed)?;
    fs::remove_dir(data_directory).map_err(LoadError::data("remove", data_directory))
}

/// Removes a file or directory tree that the plan does not have.
pub(crate) fn tree(parent: &Directory, name: &OsStr, file_system: u64) -> Result<(), LoadError> {
    let name = CString::new(name.as_bytes()).unwrap_or_default();
    TreeRemoval { file_system, path: parent.path().to_owned() }.entry(parent.as_fd(), &name)
}

struct TreeRemoval {
    file_system: u64,
    path: PathBuf,
}

impl TreeRemoval {
    fn failed(&self) -> impl Fn(rustix::io::Errno) -> LoadError + '_ {
        |error| LoadError::data("remove", &self.path)(error.into())
    }

    /// Removes everything in an open directory except the entry `spared`.
    fn clear(&mut self, directory: BorrowedFd<'_>, spared: Option<&str>) -> Result<(), LoadError> {
        let mut names: Vec<CString> = Vec::new();
        for entry in Dir::read_from(directory).map_err(self.failed())? {
            let entry = entry.map_err(self.failed())?;
            let name = entry.file_name();
            let kept = name.to_bytes() == b"."
                || name.to_bytes() == b".."
                || spared.is_some_and(|s| s.as_bytes() == name.to_bytes());
            if !kept {
                names.push(name.to_owned());
            }
        }
        names.iter().try_for_each(|name| self.entry(directory, name))
    }

    fn entry(&mut self, parent: BorrowedFd<'_>, name: &CString) -> Result<(), LoadError> {
        self.path.push(std::ffi::OsStr::from_bytes(name.as_bytes()));
        let stat = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).map_err(self.failed())?;
        if stat.st_dev != self.file_system {
            let why = io::Error::other("another file system is mounted there");
            return Err(LoadError::data("remove", &self.path)(why));
        }
        let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        if is_directory {
            let directory = self.open(parent, name)?;
            self.clear(directory.as_fd(), None)?;
        }
        let flags = if is_directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        rustix::fs::unlinkat(parent, name, flags).map_err(self.failed())?;
        self.path.pop();
        Ok(())
    }

    fn open(&self, parent: BorrowedFd<'_>, name: &CString) -> Result<OwnedFd, LoadError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(parent, name, flags, Mode::empty()).map_err(self.failed())?;
        match rustix::fs::fstat(&directory).map_err(self.failed())?.st_dev == self.file_system {
            true => Ok(directory),
            false => {
                Err(LoadError::data("remove", &self.path)(io::Error::other("another file system is mounted there")))
            }
        }
    }
}
