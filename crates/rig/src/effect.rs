//! The changes of files: the register's own, and those that make and remove resources. Each goes through here, so that
//! the tests can end the program before it, after it and in its middle.

#[cfg(test)]
pub(crate) mod death;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

#[cfg(test)]
use death::make;

#[cfg(not(test))]
fn make<T>(_partly: impl FnOnce(), act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    act()
}

/// Makes a directory.
pub(crate) fn create_directory(path: &Path, mode: u32) -> io::Result<()> {
    make(|| (), || DirBuilder::new().mode(mode).create(path))
}

/// Writes a file: of the kernel, or a new one, which may be empty after a kill.
pub(crate) fn write(path: &Path, text: impl AsRef<[u8]>) -> io::Result<()> {
    make(|| drop(File::create_new(path)), || fs::write(path, text))
}

/// Opens a file, and makes it if the options say so.
pub(crate) fn open_or_create(options: &OpenOptions, path: &Path) -> io::Result<File> {
    make(|| (), || options.open(path))
}

/// Appends to a file. After a kill it may have a part.
pub(crate) fn append(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    make(|| drop((&*file).write_all(&bytes[..bytes.len() / 2])), || file.write_all(bytes))
}

/// Shortens a file.
pub(crate) fn shorten(file: &File, length: u64) -> io::Result<()> {
    make(|| (), || file.set_len(length))
}

/// Renames a file.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    make(|| (), || fs::rename(from, to))
}

/// Removes a file.
pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    make(|| (), || fs::remove_file(path))
}

/// Removes an empty directory.
pub(crate) fn remove_directory(path: &Path) -> io::Result<()> {
    make(|| (), || fs::remove_dir(path))
}

/// Any other change, such as that of a tool.
pub(crate) fn other<T>(act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    make(|| (), act)
}
