//! The journal: lists what is live.

use std::path::Path;
use std::{fs, io};

use model::event::RunEvent;
use model::time::Moment;
use serde::{Deserialize, Serialize};

use crate::append::AppendFile;
use crate::line;
use crate::space::Space;

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub(crate) enum Entry {
    /// A segment was opened; its first bytes are the Arrow schema.
    Segment(SegmentEntry),
    /// Rows of many flushes now live in these batches. It is one line, so it is atomic.
    Consolidated {
        /// The moment of the last of those flushes.
        at: Moment,
        /// Number of the first recent file replaced: orders the batches by time.
        generation: u32,
        /// Recent files that are dead from now on.
        replaces: Vec<String>,
        /// Where the rows are.
        batches: Vec<BatchEntry>,
    },
    /// An event of the run as a whole.
    Event {
        /// The event.
        what: RunEvent,
    },
    /// The writer closed the run cleanly; nothing follows.
    Closed {
        /// When.
        at: Moment,
    },
}

/// A table's file was opened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SegmentEntry {
    /// Its name within the directory.
    pub(crate) file: String,
    /// Whose rows it holds.
    pub(crate) table: String,
    /// Length of the schema message at its beginning.
    pub(crate) length: u64,
    /// Checksum of that message.
    pub(crate) crc32c: u32,
}

/// A live batch of a segment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct BatchEntry {
    /// The segment.
    pub(crate) file: String,
    /// First byte of the Arrow message.
    pub(crate) offset: u64,
    /// Bytes of the message, its body included.
    pub(crate) length: u64,
    /// Checksum of those bytes.
    pub(crate) crc32c: u32,
    /// Rows in it.
    pub(crate) rows: u64,
    /// The time that they cover; `None` for rows without a time, or from an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) span_ns: Option<(u64, u64)>,
}

/// The journal, open for writing.
#[derive(Debug)]
pub(crate) struct Journal {
    file: AppendFile,
    buffer: Vec<u8>,
    sync: bool,
}

impl Journal {
    /// Creates the journal and locks it for the writer's life: the lock shows readers that the run is live.
    pub(crate) fn create(path: &Path, sync: bool) -> io::Result<Journal> {
        let file = AppendFile::create(path)?;
        rustix::fs::flock(file.file(), rustix::fs::FlockOperation::NonBlockingLockExclusive)?;
        Ok(Journal { file, buffer: Vec::new(), sync })
    }

    /// Appends all entries or none, and syncs.
    pub(crate) fn write(&mut self, entries: &[Entry], space: &mut Space) -> io::Result<()> {
        self.buffer.clear();
        for entry in entries {
            line::push(&mut self.buffer, entry)?;
        }
        let start = self.file.append(&self.buffer, space)?;
        if self.sync {
            self.file.sync().inspect_err(|_| self.file.cut_back(start, space))?;
        }
        Ok(())
    }
}

/// The contents of a journal.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct JournalContents {
    /// Its valid lines.
    pub(crate) entries: Vec<Entry>,
    /// Numbers, from 1, of damaged lines with valid ones after them.
    pub(crate) damaged_lines: Vec<usize>,
    /// Bytes after the last valid line.
    pub(crate) torn_bytes: u64,
    /// Bytes read.
    pub(crate) length: u64,
}

impl JournalContents {
    /// Reads a journal, which may be in the middle of being written.
    pub(crate) fn read(path: &Path) -> io::Result<JournalContents> {
        Ok(JournalContents::parse(&fs::read(path)?))
    }

    fn parse(bytes: &[u8]) -> JournalContents {
        let mut found = JournalContents { length: bytes.len() as u64, ..JournalContents::default() };
        let mut damaged = Vec::new();
        for (index, text) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            match text.strip_suffix(b"\n").and_then(line::parse::<Entry>) {
                Some(entry) => {
                    found.entries.push(entry);
                    found.damaged_lines.append(&mut damaged);
                    found.torn_bytes = 0;
                }
                None => {
                    damaged.push(index + 1);
                    found.torn_bytes += text.len() as u64;
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use model::time::Moment;

    use super::{Entry, JournalContents};
    use crate::line;

    fn three_lines() -> Vec<u8> {
        let mut bytes = Vec::new();
        for at in 1..=3 {
            let at = Moment { monotonic_ns: at, wall_ns: 0 };
            line::push(&mut bytes, &Entry::Closed { at }).unwrap();
        }
        bytes
    }

    #[test]
    fn a_torn_tail_is_counted_and_left_out() {
        let bytes = three_lines();
        let line = bytes.len() / 3;
        for cut in 0..bytes.len() {
            let found = JournalContents::parse(&bytes[..cut]);
            assert_eq!(found.entries.len(), cut / line, "cut at {cut}");
            assert_eq!(found.torn_bytes as usize, cut % line, "cut at {cut}");
            assert!(found.damaged_lines.is_empty());
        }
    }

    #[test]
    fn a_damaged_line_in_the_middle_is_named_and_skipped() {
        let mut bytes = three_lines();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        let found = JournalContents::parse(&bytes);
        assert_eq!((found.entries.len(), found.damaged_lines, found.torn_bytes), (2, vec![2], 0));
    }
}
