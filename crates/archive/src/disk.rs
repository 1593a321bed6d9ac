//! The operations that change a run directory. Every change goes through here, so that the tests can record it, let it
//! fail, and try each state that a crash after it may leave.

#[cfg(test)]
pub(crate) mod record;

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use access::Sharing;
use rustix::fs::FallocateFlags;
use rustix::io::Errno;

/// A change that is about to be made.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(test), expect(dead_code, reason = "only the tests read it"))]
pub(crate) enum FileOperation<'a> {
    /// A directory, and those above it that are missing.
    MakeDirectory(&'a Path),
    /// A new, empty file.
    Create(&'a Path),
    /// Bytes at an offset.
    Write(&'a File, &'a [u8], u64),
    /// Another length.
    SetLength(&'a File, u64),
    /// A wait until a file's bytes are on the disk.
    Sync(&'a File),
    /// A wait until a directory's names are on the disk.
    SyncDirectory(&'a Path),
    /// A new name, which replaces that of another file.
    Rename(&'a Path, &'a Path),
    /// A removed name.
    Remove(&'a Path),
}

#[cfg(test)]
use record::make;

#[cfg(not(test))]
fn make<T>(_: FileOperation<'_>, change: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    change()
}

/// Makes a directory of the owner alone, and those above it that are missing. The names of those survive a crash of the
/// machine; the directory's own is synced by the caller.
pub(crate) fn make_directory(dir: &Path) -> io::Result<()> {
    let above = || dir.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty());
    let missing: Vec<&Path> = above().take_while(|path| !path.exists()).collect();
    make(FileOperation::MakeDirectory(dir), || Sharing::PRIVATE.make_directory(dir))?;
    missing.into_iter().filter_map(Path::parent).try_for_each(sync_directory)
}

/// Makes a new, empty file with the directory's access.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    make(FileOperation::Create(path), || access::create_new(path))
}

/// Writes all of `bytes`.
pub(crate) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    make(FileOperation::Write(file, bytes, offset), || file.write_all_at(bytes, offset))
}

/// Shortens a file, or makes it longer by zeros.
pub(crate) fn set_length(file: &File, length: u64) -> io::Result<()> {
    make(FileOperation::SetLength(file, length), || file.set_len(length))
}

/// Allocates blocks, by writing zeros where the file system lacks fallocate.
pub(crate) fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    make(FileOperation::SetLength(file, bytes), || {
        match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, bytes.max(1)) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                io::copy(&mut io::repeat(0).take(bytes), &mut &*file)?;
                file.sync_all()
            }
            outcome => Ok(outcome?),
        }
    })
}

/// Waits until a file's bytes are on the disk.
pub(crate) fn sync(file: &File) -> io::Result<()> {
    make(FileOperation::Sync(file), || file.sync_data())
}

/// The same, with the rest of what the file system knows of the file.
pub(crate) fn sync_all(file: &File) -> io::Result<()> {
    make(FileOperation::Sync(file), || file.sync_all())
}

/// Makes the names in a directory survive a crash of the machine. An empty path is the working directory.
pub(crate) fn sync_directory(dir: &Path) -> io::Result<()> {
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    make(FileOperation::SyncDirectory(dir), || File::open(dir)?.sync_all())
}

/// Renames a file.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    make(FileOperation::Rename(from, to), || fs::rename(from, to))
}

/// Removes a file.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    make(FileOperation::Remove(path), || fs::remove_file(path))
}
