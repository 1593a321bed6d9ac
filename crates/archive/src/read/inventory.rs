//! Which bytes of a run directory are live.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::event::RunEvent;
use model::time::Moment;

use crate::directory::JOURNAL_FILE;
use crate::error::ArchiveError;
use crate::journal::{BatchEntry, Entry, JournalContents, SegmentEntry};
use crate::recent;

/// A file that holds rows, kept open: a writer may delete a recent file while it is read.
#[derive(Debug)]
pub(crate) struct OpenFile {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// For positional reads.
    pub(crate) file: File,
}

/// A live batch.
#[derive(Debug, Clone)]
pub(crate) struct Batch {
    /// The file it is in.
    pub(crate) file: Arc<OpenFile>,
    /// The segment whose schema it has.
    pub(crate) schema: Arc<SegmentSchema>,
    /// First byte.
    pub(crate) offset: u64,
    /// Bytes.
    pub(crate) length: u64,
    /// Checksum of those bytes.
    pub(crate) crc32c: u32,
    /// Rows in it.
    pub(crate) rows: u64,
    /// The time that they cover; `None`: unknown.
    pub(crate) span_ns: Option<(u64, u64)>,
}

/// A recent file that no consolidation has replaced.
struct Recent {
    generation: u32,
    file: Arc<OpenFile>,
    bytes: Vec<u8>,
}

/// The schema message at the beginning of a segment.
#[derive(Debug)]
pub(crate) struct SegmentSchema {
    /// The segment.
    pub(crate) file: Arc<OpenFile>,
    /// Its entry in the journal.
    pub(crate) entry: SegmentEntry,
}

/// Everything that is live, and what is missing.
#[derive(Debug, Default)]
pub(crate) struct Inventory {
    /// Live batches by table, in the order of time.
    pub(crate) batches: HashMap<String, Vec<Batch>>,
    /// Segments, in the order of opening.
    pub(crate) segments: Vec<Arc<SegmentSchema>>,
    /// Recent files in use.
    pub(crate) recent_files: usize,
    /// Events in the order of writing.
    pub(crate) events: Vec<RunEvent>,
    /// Bytes that were being written when the writer died.
    pub(crate) torn_bytes: u64,
    /// Data that cannot be read, one sentence each.
    pub(crate) lost: Vec<String>,
    /// Moment of the last whole flush.
    pub(crate) last_flush: Option<Moment>,
    /// Whether the writer closed the run.
    pub(crate) closed: bool,
}

impl Inventory {
    /// Reads the directory. If the journal has grown in between, a writer has consolidated, and it is read again.
    pub(crate) fn take(dir: &Path) -> Result<Inventory, ArchiveError> {
        const ATTEMPTS: usize = 100;
        let path = dir.join(JOURNAL_FILE);
        let read = || JournalContents::read(&path).map_err(ArchiveError::io(&path, "read"));
        let mut journal = read()?;
        for _ in 0..ATTEMPTS {
            let recent = open_recent(dir, &journal.entries);
            let again = read()?;
            if again.length == journal.length {
                return Ok(Inventory::build(dir, journal, recent.map_err(ArchiveError::io(dir, "read its files"))?));
            }
            journal = again;
        }
        let source = io::Error::other("the journal changes faster than it can be read");
        Err(ArchiveError::Io { path, what: "read", source })
    }

    fn build(dir: &Path, journal: JournalContents, recent: Vec<Recent>) -> Inventory {
        let mut inventory = Inventory { torn_bytes: journal.torn_bytes, ..Inventory::default() };
        inventory.lost.extend(journal.damaged_lines.iter().map(|line| format!("journal: line {line} is damaged")));
        let mut parts = Vec::new();
        for entry in journal.entries {
            match entry {
                Entry::Segment(entry) => inventory.add_segment(dir, entry),
                Entry::Consolidated { at, generation, batches, .. } => {
                    inventory.flushed(at);
                    parts.extend(batches.iter().filter_map(|batch| inventory.segment_batch(generation, batch)));
                }
                Entry::Event { what } => inventory.events.push(what),
                Entry::Closed { .. } => inventory.closed = true,
            }
        }
        inventory.recent_files = recent.len();
        for recent in &recent {
            parts.extend(inventory.recent_batches(recent));
        }
        parts.sort_by_key(|(generation, _)| *generation);
        for (_, batch) in parts {
            inventory.batches.entry(batch.schema.entry.table.clone()).or_default().push(batch);
        }
        inventory
    }

    fn add_segment(&mut self, dir: &Path, entry: SegmentEntry) {
        let path = dir.join(&entry.file);
        match File::open(&path) {
            Ok(file) => self.segments.push(Arc::new(SegmentSchema { file: Arc::new(OpenFile { path, file }), entry })),
            Err(error) => self.lost.push(format!("{}: cannot be opened: {error}", entry.file)),
        }
    }

    fn segment_batch(&mut self, generation: u32, batch: &BatchEntry) -> Option<(u32, Batch)> {
        let Some(schema) = self.segments.iter().find(|segment| segment.entry.file == batch.file).cloned() else {
            self.lost.push(format!("{}: {} rows, because the segment is missing", batch.file, batch.rows));
            return None;
        };
        let BatchEntry { offset, length, crc32c, rows, span_ns, .. } = *batch;
        Some((generation, Batch { file: schema.file.clone(), schema, offset, length, crc32c, rows, span_ns }))
    }

    fn recent_batches(&mut self, Recent { generation, file, bytes }: &Recent) -> Vec<(u32, Batch)> {
        let found = recent::RecentContents::parse(bytes);
        self.torn_bytes += found.torn_bytes;
        found.last.into_iter().for_each(|at| self.flushed(at));
        let name = recent::file_name(*generation);
        self.lost.extend(found.damaged.iter().map(|offset| format!("{name}: the flush at offset {offset} is damaged")));
        let mut batches = Vec::new();
        for recent::Located { offset, batch } in found.batches {
            let Some(schema) = self.segments.iter().rfind(|segment| segment.entry.table == batch.table).cloned() else {
                self.lost.push(format!("{name}: {} rows of {}, which has no segment", batch.rows, batch.table));
                continue;
            };
            let recent::RecentBatch { length, crc32c, rows, span_ns, .. } = batch;
            batches.push((*generation, Batch { file: file.clone(), schema, offset, length, crc32c, rows, span_ns }));
        }
        batches
    }

    fn flushed(&mut self, at: Moment) {
        self.last_flush = self.last_flush.max(Some(at));
    }
}

/// The recent files that no consolidation has replaced, by generation.
fn open_recent(dir: &Path, entries: &[Entry]) -> io::Result<Vec<Recent>> {
    let is_replaced = |name: &str| {
        entries.iter().any(
            |entry| matches!(entry, Entry::Consolidated { replaces, .. } if replaces.iter().any(|old| old == name)),
        )
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(generation) = recent::generation_of(&name).filter(|_| !is_replaced(&name)) else { continue };
        let mut file = File::open(entry.path())?;
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut file, &mut bytes)?;
        files.push(Recent { generation, file: Arc::new(OpenFile { path: entry.path(), file }), bytes });
    }
    files.sort_by_key(|recent| recent.generation);
    Ok(files)
}
