//! Opening the files that hold rows. A run directory may come from a stranger: only plain names of the expected form are
//! opened, and no link is followed.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};

use crate::journal::{Entry, SegmentEntry};
use crate::recent;

/// A file that holds rows, kept open: a writer may delete a recent file while it is read.
#[derive(Debug)]
pub(crate) struct OpenFile {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// For positional reads.
    pub(crate) file: File,
}

/// A recent file that no consolidation has replaced.
pub(super) struct Recent {
    pub(super) generation: u32,
    pub(super) file: Arc<OpenFile>,
    pub(super) bytes: Vec<u8>,
}

/// Opens a segment.
pub(super) fn open_segment(dir: &Path, entry: &SegmentEntry) -> io::Result<OpenFile> {
    let number = entry.file.strip_prefix(entry.table.as_str()).and_then(|rest| rest.strip_prefix('-'));
    let number = number.and_then(|rest| rest.strip_suffix(".arrows"));
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    if !is_plain(&entry.table) || number.is_none_or(|number| number.parse::<u32>().is_err()) {
        return Err(io::Error::other("this is no name of a segment"));
    }
    open(dir, &entry.file)
}

/// Opens a regular file of the directory.
fn open(dir: &Path, name: &str) -> io::Result<OpenFile> {
    let path = dir.join(name);
    // A device or a pipe must not block.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(&path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(OpenFile { path, file })
}

/// The recent files that no consolidation has replaced, by generation.
pub(super) fn open_recent(dir: &Path, entries: &[Entry]) -> io::Result<Vec<Recent>> {
    let is_replaced = |name: &str| {
        entries.iter().any(
            |entry| matches!(entry, Entry::Consolidated { replaces, .. } if replaces.iter().any(|old| old == name)),
        )
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let Some(generation) = recent::generation_of(&name).filter(|_| !is_replaced(&name)) else { continue };
        let file = open(dir, &name)?;
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut &file.file, &mut bytes)?;
        files.push(Recent { generation, file: Arc::new(file), bytes });
    }
    files.sort_by_key(|recent| recent.generation);
    Ok(files)
}
