//! Opening the files of a run directory, which may come from a stranger: no link is followed, nothing but a regular file is
//! opened, and none is read whole that is larger than any that a writer makes.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// A writer's longest recent file holds the rows of a minute.
pub(crate) const MAX_WHOLE_BYTES: u64 = 512 << 20;

/// A file that holds rows, kept open: a writer may delete a recent file while it is read.
#[derive(Debug)]
pub(crate) struct OpenFile {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// For positional reads.
    pub(crate) file: File,
}

/// Opens a regular file of the directory.
pub(crate) fn open(dir: &Path, name: &str) -> io::Result<OpenFile> {
    let path = dir.join(name);
    // A device or a pipe must not block.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(&path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(OpenFile { path, file })
}

/// The bytes of a file that is read as a whole; at most `limit`, which is also the limit of a file that grows meanwhile.
pub(crate) fn read_whole(file: &File, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::other(format!("it is larger than {} MiB, which no run needs", limit >> 20)));
    }
    Ok(bytes)
}
