//! File sets, and the identity and path of each file.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use access::Directory;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::hold::DirectoryLock;
use super::names::{FileName, FileNames};

/// Files of one kind in every data directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSet {
    /// Its name in the recipe, and its subdirectory of the data directory.
    pub name: String,
    /// Files per directory.
    pub files: u64,
    /// Size of each file.
    pub size_bytes: u64,
    /// Whether an actor replaces files, so that an open descriptor may refer to a deleted file.
    pub replaced: bool,
    /// Whether the fill creates the files; otherwise an actor does, and leftovers of an earlier run are removed first.
    pub filled: bool,
    /// The names of its files.
    pub names: FileNames,
    /// Whether the fill stamps the data for verification. Such a set is recreated for each run.
    pub stamped: bool,
}

/// One file of the plan as one word: directory, set and number, plus one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileId(u64);

const DIRECTORY_SHIFT: u32 = 48;
const SET_SHIFT: u32 = 40;
const FILE_MASK: u64 = (1 << SET_SHIFT) - 1;

impl FileId {
    /// Maximum files of a set per directory.
    pub(crate) const MAX_FILES: u64 = FILE_MASK - 1;
    /// Maximum sets of a recipe.
    pub(crate) const MAX_SETS: usize = 255;
    /// Maximum directories.
    pub(crate) const MAX_DIRECTORIES: usize = 65_000;

    /// File `file` of set `set` in directory `directory`.
    pub fn new(directory: usize, set: usize, file: u64) -> FileId {
        FileId((((directory as u64) << DIRECTORY_SHIFT) | ((set as u64) << SET_SHIFT) | (file & FILE_MASK)) + 1)
    }

    /// As a word that is never 0.
    pub(crate) fn to_word(self) -> u64 {
        self.0
    }

    /// From such a word; 0 is no file.
    pub(crate) fn from_word(word: u64) -> Option<FileId> {
        (word != 0).then_some(FileId(word))
    }

    /// Directory, set and number.
    pub fn parts(self) -> (usize, usize, u64) {
        let word = self.0 - 1;
        ((word >> DIRECTORY_SHIFT) as usize, ((word >> SET_SHIFT) & 0xff) as usize, word & FILE_MASK)
    }

    /// Path of the file; `None` if the plan does not have it.
    pub fn path(self, data_directories: &[PathBuf], sets: &[FileSet]) -> Option<PathBuf> {
        let (directory, set, file) = self.parts();
        Some(file_path(data_directories.get(directory)?, sets.get(set)?, file))
    }

    /// Where the file is; `None` if the plan does not have it.
    pub(crate) fn place<'a>(self, directories: &'a [DirectoryLock], sets: &[FileSet]) -> Option<FilePlace<'a>> {
        let (directory, set, file) = self.parts();
        let directory = directories.get(directory)?.directory();
        Some(FilePlace { directory, name: name_within(sets.get(set)?, file) })
    }
}

/// A file beneath an open data directory.
pub(crate) struct FilePlace<'a> {
    pub(crate) directory: &'a Directory,
    pub(crate) name: PathBuf,
}

impl FilePlace<'_> {
    /// Opens it to read.
    pub(crate) fn read(&self) -> io::Result<File> {
        self.directory.file(&self.name, OFlags::RDONLY)
    }

    /// Opens it.
    pub(crate) fn open(&self, flags: OFlags) -> io::Result<File> {
        self.directory.file(&self.name, flags)
    }

    /// Opens it to write, and makes what is missing.
    pub(crate) fn create(&self, flags: OFlags) -> io::Result<File> {
        self.directory.create(&self.name, flags)
    }
}

/// Path of file number `file` of a set.
pub fn file_path(data_directory: &Path, set: &FileSet, file: u64) -> PathBuf {
    data_directory.join(name_within(set, file))
}

/// The same within the data directory.
pub(crate) fn name_within(set: &FileSet, file: u64) -> PathBuf {
    let mut name = FileName::new();
    set.names.write(file, &mut name);
    Path::new(&set.name).join(OsStr::from_bytes(name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::FileId;

    #[test]
    fn a_file_id_keeps_its_parts() {
        for parts in [(0, 0, 0), (FileId::MAX_DIRECTORIES, FileId::MAX_SETS - 1, FileId::MAX_FILES - 1), (3, 2, 1)] {
            let id = FileId::new(parts.0, parts.1, parts.2);
            assert_eq!(FileId::from_word(id.to_word()).unwrap().parts(), parts);
        }
        assert_eq!(FileId::from_word(0), None);
    }
}
