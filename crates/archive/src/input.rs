//! Opening the files of a run directory, which may come from a stranger: no link is followed, nothing but a regular
//! file is opened, and none is read whole that is larger than any that a writer makes.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// The journal, which grows with each minute: that of some months.
pub(crate) const MAX_JOURNAL_BYTES: u64 = 512 << 20;
/// All recent files in use, of which a writer has one, with some MiB.
pub(crate) const MAX_RECENT_BYTES: u64 = 256 << 20;
/// The description, which has some hundred KiB on a machine with thousands of mounts.
pub(crate) const MAX_DESCRIPTION_BYTES: u64 = 16 << 20;

/// A file that holds rows, kept open: a writer may delete a recent file while it is read.
#[derive(Debug)]
pub(crate) struct OpenFile {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// For positional reads.
    pub(crate) file: File,
}

/// Opens a regular file of the directory. Nothing else is opened at all: a pipe would wake its writer, a tape would
/// rewind.
pub(crate) fn open(dir: &Path, name: &str) -> io::Result<OpenFile> {
    let path = dir.join(name);
    let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC;
    refuse_irregular(&File::from(rustix::fs::open(&path, flags | OFlags::PATH, Mode::empty())?))?;
    // What has been put in its place meanwhile must not block.
    let file = File::from(rustix::fs::open(&path, flags | OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty())?);
    refuse_irregular(&file)?;
    Ok(OpenFile { path, file })
}

fn refuse_irregular(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() { Ok(()) } else { Err(wrong("it is not a regular file".to_owned())) }
}

/// The bytes of a file that is read as a whole; at most `limit`, which is also the limit of a file that grows
/// meanwhile.
pub(crate) fn read_whole(file: &File, limit: u64) -> io::Result<Vec<u8>> {
    let too_large = || wrong(format!("it is larger than {} MiB, which no run needs", limit >> 20));
    let size = file.metadata()?.len();
    if size > limit {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(size as usize + 1);
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(too_large()) } else { Ok(bytes) }
}

/// The file is not what it should be, rather than the machine.
fn wrong(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
