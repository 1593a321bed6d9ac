//! Which bytes of a run directory are live.

mod claims;
mod files;

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

use model::damage::Damage;
use model::event::RunEvent;
use model::time::Moment;

use super::batch::{Batch, SegmentSchema};
use crate::directory::{DESCRIPTION_FILE, JOURNAL_FILE, WATERMARK_FILE};
use crate::error::ArchiveError;
use crate::journal::{BatchEntry, Entry, JournalContents, SegmentEntry};
use crate::recent;
use crate::watermark::{self, Watermark};
use files::{Recent, open_recent, open_segment};

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
    /// Data that cannot be read.
    pub(crate) damage: Vec<Damage>,
    /// Moment of the last whole flush.
    pub(crate) last_flush: Option<Moment>,
    /// Whether the writer closed the run.
    pub(crate) closed: bool,
    /// Tables of segments that cannot be opened, by file.
    missing: HashMap<String, String>,
    /// Recent files that the journal lists.
    listed: HashSet<String>,
    /// Recent files whose rows were consolidated.
    replaced: HashSet<String>,
    /// Moment of the last consolidation.
    consolidated: Option<Moment>,
}

/// A watermark that is overwritten meanwhile may be read half old and half new.
const WATERMARK_ATTEMPTS: u32 = 5;

impl Inventory {
    /// Reads the directory. If the journal has grown in between, a writer has consolidated, and it is read again.
    pub(crate) fn take(dir: &Path, description: &[u8]) -> Result<Inventory, ArchiveError> {
        const ATTEMPTS: usize = 100;
        let path = dir.join(JOURNAL_FILE);
        let read = || JournalContents::read(&path).map_err(ArchiveError::io(&path, "read"));
        // First: what it promises, a later reading of the files finds.
        let watermark = (0..WATERMARK_ATTEMPTS).find_map(|_| watermark::read(dir));
        let mut journal = read()?;
        for _ in 0..ATTEMPTS {
            let recent = open_recent(dir, &journal.entries);
            let again = read()?;
            if again.length == journal.length {
                let recent = recent.map_err(ArchiveError::io(dir, "read its files"))?;
                return Ok(Inventory::build(dir, description, journal, recent, watermark));
            }
            journal = again;
        }
        let source = io::Error::other("the journal changes faster than it can be read");
        Err(ArchiveError::Io { path, what: "read", source })
    }

    fn build(
        dir: &Path,
        description: &[u8],
        mut journal: JournalContents,
        recent: Vec<Recent>,
        watermark: Option<Watermark>,
    ) -> Inventory {
        let mut inventory = Inventory {
            torn_bytes: journal.torn_bytes,
            damage: std::mem::take(&mut journal.damage),
            ..Inventory::default()
        };
        // Of a journal that was emptied, only the watermark shows that it was chained.
        let is_chained = journal.is_chained || watermark.is_some();
        let mut parts = Vec::new();
        for entry in std::mem::take(&mut journal.entries) {
            inventory.entry(dir, description, entry, &mut parts);
        }
        inventory.recent_files = recent.len();
        let mut lengths = HashMap::new();
        for recent in &recent {
            let name = recent::file_name(recent.generation);
            if is_chained && !inventory.listed.contains(&name) && !recent.bytes.is_empty() {
                inventory
                    .damage
                    .push(Damage { rows: Some(0), ..Damage::of_file(&name, "the journal does not list it") });
            }
            let torn_before = inventory.torn_bytes;
            parts.extend(inventory.recent_batches(recent, watermark.as_ref()));
            lengths.insert(name, recent.bytes.len() as u64 - (inventory.torn_bytes - torn_before));
        }
        if is_chained {
            inventory.compare(&journal, &lengths, watermark);
        }
        inventory.sort(parts);
        inventory
    }

    /// Batches by table, in the order of time.
    fn sort(&mut self, mut parts: Vec<(u32, Batch)>) {
        self.damage.extend(claims::take_impossible(&mut parts));
        parts.sort_by_key(|(generation, _)| *generation);
        for (_, batch) in parts {
            self.batches.entry(batch.schema.entry.table.clone()).or_default().push(batch);
        }
    }

    fn entry(&mut self, dir: &Path, description: &[u8], entry: Entry, parts: &mut Vec<(u32, Batch)>) {
        match entry {
            Entry::Begun { length, crc32c } => {
                if (length, crc32c) != (description.len() as u64, crc32c::crc32c(description)) {
                    let why = "it is not the description that this run was begun with";
                    self.damage.push(Damage { rows: Some(0), ..Damage::of_file(DESCRIPTION_FILE, why) });
                }
            }
            Entry::Segment(entry) => self.add_segment(dir, entry),
            Entry::Recent { file } => drop(self.listed.insert(file)),
            Entry::Consolidated { at, generation, batches, replaces } => {
                self.flushed(at);
                self.consolidated = self.consolidated.max(Some(at));
                self.replaced.extend(replaces);
                parts.extend(batches.iter().filter_map(|batch| self.segment_batch(generation, batch)));
            }
            Entry::Event { what } => self.events.push(what),
            Entry::Closed { .. } => self.closed = true,
            Entry::Unknown => {}
        }
    }

    /// Compares what was read with what the journal lists and the watermark promises.
    fn compare(&mut self, journal: &JournalContents, lengths: &HashMap<String, u64>, watermark: Option<Watermark>) {
        let since_ns = self.consolidated.map_or(0, |at| at.monotonic_ns);
        let mut missing: Vec<&String> = self.listed.iter().filter(|name| !self.replaced.contains(*name)).collect();
        missing.retain(|name| !lengths.contains_key(*name));
        missing.sort();
        let lost = |file: &str, why: String, from_ns: u64| Damage {
            span_ns: Some((from_ns, u64::MAX)),
            ..Damage::of_file(file, why)
        };
        let mut damage: Vec<Damage> =
            missing.into_iter().map(|name| lost(name, "it is missing".to_owned(), since_ns)).collect();
        let Some(Watermark { journal: promised, recent }) = watermark else {
            let why = "it is missing or damaged: the end of the journal and of the recent file may be missing, too";
            damage.push(Damage { rows: Some(0), ..Damage::of_file(WATERMARK_FILE, why) });
            self.damage.extend(damage);
            return;
        };
        if journal.valid_bytes < promised.bytes {
            let why =
                format!("entries are missing at its end: {} of {} bytes are left", journal.valid_bytes, promised.bytes);
            damage.push(lost(JOURNAL_FILE, why, since_ns));
        }
        if let Some((name, bytes)) = recent
            && !self.replaced.contains(&name)
            && let Some(whole) = lengths.get(&name).filter(|whole| **whole < bytes)
        {
            let last_ns = self.last_flush.map_or(since_ns, |at| at.monotonic_ns);
            damage.push(lost(
                &name,
                format!("flushes are missing at its end: {whole} of {bytes} bytes are left"),
                last_ns,
            ));
        }
        if self.closed && journal.torn_bytes > 0 {
            let why = format!("{} bytes follow the end of the run", journal.torn_bytes);
            damage.push(Damage { rows: Some(0), ..Damage::of_file(JOURNAL_FILE, why) });
        }
        self.damage.extend(damage);
    }

    fn add_segment(&mut self, dir: &Path, entry: SegmentEntry) {
        match open_segment(dir, &entry) {
            Ok(file) => self.segments.push(Arc::new(SegmentSchema { file: Arc::new(file), entry })),
            Err(error) => {
                let why = format!("cannot be opened: {error}");
                self.damage.push(Damage { rows: Some(0), ..Damage::of_file(&entry.file, why) });
                self.missing.insert(entry.file, entry.table);
            }
        }
    }

    fn segment_batch(&mut self, generation: u32, batch: &BatchEntry) -> Option<(u32, Batch)> {
        let BatchEntry { offset, length, crc32c, rows, span_ns, .. } = *batch;
        let Some(schema) = self.segments.iter().find(|segment| segment.entry.file == batch.file).cloned() else {
            self.damage.push(Damage {
                table: self.missing.get(&batch.file).cloned(),
                offset: Some(offset),
                bytes: Some(length),
                rows: Some(rows),
                span_ns,
                ..Damage::of_file(&batch.file, "the segment is missing")
            });
            return None;
        };
        Some((generation, Batch { file: schema.file.clone(), schema, offset, length, crc32c, rows, span_ns }))
    }

    fn recent_batches(
        &mut self,
        Recent { generation, file, bytes }: &Recent,
        watermark: Option<&Watermark>,
    ) -> Vec<(u32, Batch)> {
        let promised = watermark.filter(|_| !self.closed).map_or(u64::MAX, |watermark| watermark.promised(*generation));
        let found = recent::RecentContents::parse(*generation, bytes, promised);
        self.torn_bytes += found.torn_bytes;
        found.last.into_iter().for_each(|at| self.flushed(at));
        let name = recent::file_name(*generation);
        self.damage.extend(found.damaged.iter().map(|flush| Damage {
            offset: Some(flush.offset),
            bytes: Some(flush.bytes),
            rows: if flush.is_loss { None } else { Some(0) },
            span_ns: Some(flush.span_ns),
            ..Damage::of_file(&name, format!("offset {}: {}", flush.offset, flush.why))
        }));
        let mut batches = Vec::new();
        for recent::Located { offset, batch } in found.batches {
            let recent::RecentBatch { length, crc32c, rows, span_ns, table } = batch;
            let Some(schema) = self.segments.iter().rfind(|segment| segment.entry.table == table).cloned() else {
                let (offset, bytes, rows) = (Some(offset), Some(length), Some(rows));
                let why = "the table has no segment";
                self.damage.push(Damage {
                    table: Some(table),
                    offset,
                    bytes,
                    rows,
                    span_ns,
                    ..Damage::of_file(&name, why)
                });
                continue;
            };
            batches.push((*generation, Batch { file: file.clone(), schema, offset, length, crc32c, rows, span_ns }));
        }
        batches
    }

    fn flushed(&mut self, at: Moment) {
        self.last_flush = self.last_flush.max(Some(at));
    }
}
