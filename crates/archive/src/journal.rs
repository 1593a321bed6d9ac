//! The journal: lists what is live. Its lines are numbered and chained.

mod chain;
mod entry;

use std::io;
use std::path::Path;

use model::damage::Damage;

use crate::append::AppendFile;
use crate::directory::JOURNAL_FILE;
use crate::extent::Extent;
use crate::input::{MAX_JOURNAL_BYTES, open, read_whole};
use crate::line;
use crate::space::Space;
use crate::watermark::WatermarkFile;
use chain::ChainCheck;
use entry::Link;
pub(crate) use entry::{BatchEntry, Entry, SegmentEntry};

/// The journal, open for writing.
#[derive(Debug)]
pub(crate) struct Journal {
    file: AppendFile,
    extent: Extent,
    buffer: Vec<u8>,
    sync: bool,
    /// Whether the last entries may be on the disk though they could not be written.
    is_uncertain: bool,
    watermark: WatermarkFile,
}

impl Journal {
    /// Creates the journal and locks it for the writer's life: the lock shows readers that the run is live.
    pub(crate) fn create(dir: &Path, sync: bool, space: &mut Space) -> io::Result<Journal> {
        let file = AppendFile::create(&dir.join(JOURNAL_FILE))?;
        rustix::fs::flock(file.file(), rustix::fs::FlockOperation::NonBlockingLockExclusive)?;
        let watermark = WatermarkFile::create(dir, sync, space)?;
        Ok(Journal { file, extent: Extent::default(), buffer: Vec::new(), sync, is_uncertain: false, watermark })
    }

    /// Appends all entries or none, and syncs.
    pub(crate) fn write(&mut self, entries: &[Entry], space: &mut Space) -> io::Result<()> {
        self.buffer.clear();
        let mut extent = self.extent;
        for entry in entries {
            let start = self.buffer.len();
            let link = Link { number: Some(extent.lines), before: Some(extent.crc32c), entry: entry.clone() };
            line::push(&mut self.buffer, &link)?;
            extent.push(&self.buffer[start..]);
        }
        let start = self.file.append(&self.buffer, space)?;
        if self.sync
            && let Err(error) = self.file.sync()
        {
            self.is_uncertain = true;
            self.file.take_back(start, space)?;
            self.is_uncertain = false;
            return Err(error);
        }
        self.watermark.note_journal(extent);
        self.extent = extent;
        Ok(())
    }

    /// Whether what the last entries name must stay as it is: after a crash they may be there. Nothing follows them.
    pub(crate) fn is_uncertain(&self) -> bool {
        self.is_uncertain
    }

    /// Appends to the recent file in use, all or nothing, and syncs.
    pub(crate) fn append_recent(
        &mut self,
        recent: &mut AppendFile,
        record: &[u8],
        space: &mut Space,
    ) -> io::Result<()> {
        let start = recent.append(record, space)?;
        if self.sync
            && let Err(error) = recent.sync()
        {
            // A record that may not be on the disk is written again elsewhere, so it must not stay here.
            recent.take_back(start, space)?;
            return Err(error);
        }
        self.watermark.note_recent(Some((recent.name(), recent.length())));
        Ok(())
    }

    /// Notes that no recent file is in use.
    pub(crate) fn close_recent(&mut self) {
        self.watermark.note_recent(None);
    }
}

/// The contents of a journal.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct JournalContents {
    /// Its entries, in the order of writing.
    pub(crate) entries: Vec<Entry>,
    /// Damaged, missing, repeated and displaced lines.
    pub(crate) damage: Vec<Damage>,
    /// Whether its lines are chained.
    pub(crate) is_chained: bool,
    /// Bytes up to the end of the last valid line.
    pub(crate) valid_bytes: u64,
    /// Bytes after the last valid line.
    pub(crate) torn_bytes: u64,
    /// Bytes read.
    pub(crate) length: u64,
}

impl JournalContents {
    /// Reads a journal, which may be in the middle of being written.
    pub(crate) fn read(path: &Path) -> io::Result<JournalContents> {
        let dir = path.parent().unwrap_or(Path::new("."));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(JournalContents::parse(&read_whole(&open(dir, &name)?.file, MAX_JOURNAL_BYTES)?))
    }

    fn parse(bytes: &[u8]) -> JournalContents {
        let mut check = ChainCheck::default();
        let mut valid_bytes = 0;
        let mut at = 0;
        for (index, text) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            at += text.len();
            match text.strip_suffix(b"\n").and_then(line::parse::<Link>) {
                Some(link) => {
                    check.line(index + 1, text, link);
                    valid_bytes = at;
                }
                None => check.damaged(index + 1),
            }
        }
        let is_chained = check.is_chained();
        let (entries, damage) = check.finish();
        let (length, valid_bytes) = (bytes.len() as u64, valid_bytes as u64);
        JournalContents { entries, damage, is_chained, valid_bytes, torn_bytes: length - valid_bytes, length }
    }
}

#[cfg(test)]
mod tests;
