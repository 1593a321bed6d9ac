//! Opening the files that hold rows: only plain names of the expected form.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::input::{MAX_RECENT_BYTES, OpenFile, open, read_whole};
use crate::journal::{Entry, SegmentEntry};
use crate::recent;

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

/// The recent files that no consolidation has replaced, by generation.
pub(super) fn open_recent(dir: &Path, entries: &[Entry]) -> io::Result<Vec<Recent>> {
    let is_replaced = |name: &str| {
        entries.iter().any(
            |entry| matches!(entry, Entry::Consolidated { replaces, .. } if replaces.iter().any(|old| old == name)),
        )
    };
    let (mut files, mut left) = (Vec::new(), MAX_RECENT_BYTES);
    for entry in std::fs::read_dir(dir)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let Some(generation) = recent::generation_of(&name).filter(|_| !is_replaced(&name)) else { continue };
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{name}: {error}"));
        let file = open(dir, &name).map_err(named)?;
        let bytes = read_whole(&file.file, left).map_err(named)?;
        left -= bytes.len() as u64;
        files.push(Recent { generation, file: Arc::new(file), bytes });
    }
    files.sort_by_key(|recent| recent.generation);
    Ok(files)
}
