//! Segments: a table's Arrow streams.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::append::AppendFile;
use crate::disk::sync_directory;
use crate::encode::{END_OF_STREAM, Encoder};
use crate::journal::{BatchEntry, Entry, Journal, SegmentEntry};
use crate::space::Space;
use crate::writer::table_rows::{AnyTableRows, Extent};

/// The open segment of each table.
#[derive(Debug)]
pub(crate) struct Segments {
    dir: PathBuf,
    open: BTreeMap<&'static str, Segment>,
    sync: bool,
}

#[derive(Debug)]
struct Segment {
    file: AppendFile,
    number: u32,
    /// Bytes that the journal has made live.
    live: u64,
}

impl Segments {
    /// None yet.
    pub(crate) fn new(dir: &Path, sync: bool) -> Segments {
        Segments { dir: dir.to_owned(), open: BTreeMap::new(), sync }
    }

    /// Opens the table's segment; the next one if the last cannot be continued.
    pub(crate) fn ensure(
        &mut self,
        rows: &dyn AnyTableRows,
        encoder: &mut Encoder,
        journal: &mut Journal,
        space: &mut Space,
    ) -> io::Result<()> {
        let number = match self.open.get(rows.name()) {
            Some(segment) if segment.file.is_sound() => return Ok(()),
            Some(segment) => segment.number + 1,
            None => 0,
        };
        let mut file = AppendFile::create(&self.dir.join(format!("{}-{number:04}.arrows", rows.name())))?;
        let opened = write_schema(&mut file, rows, encoder, self.sync, space)
            .and_then(|entry| if self.sync { sync_directory(&self.dir).map(|()| entry) } else { Ok(entry) })
            .and_then(|entry| journal.write(&[Entry::Segment(entry)], space));
        if let Err(error) = opened {
            if !journal.is_uncertain() {
                file.remove(space);
            }
            return Err(error);
        }
        let live = file.length();
        self.open.insert(rows.name(), Segment { file, number, live });
        Ok(())
    }

    /// Appends a batch. It is live once the journal lists it and [`Segments::commit`] was called.
    pub(crate) fn append(
        &mut self,
        table: &str,
        batch: &[u8],
        extent: Extent,
        space: &mut Space,
    ) -> io::Result<BatchEntry> {
        let segment = self.open.get_mut(table).expect("ensure was called before");
        let offset = segment.file.append(batch, space)?;
        let entry = BatchEntry {
            file: segment.file.name(),
            offset,
            length: batch.len() as u64,
            crc32c: crc32c::crc32c(batch),
            rows: extent.rows,
            span_ns: extent.span_ns,
        };
        if self.sync {
            segment.file.sync()?;
        }
        Ok(entry)
    }

    /// Marks everything appended as live.
    pub(crate) fn commit(&mut self) {
        for segment in self.open.values_mut() {
            segment.live = segment.file.length();
        }
    }

    /// Truncates what was appended since the last commit.
    pub(crate) fn roll_back(&mut self, space: &mut Space) {
        for segment in self.open.values_mut().filter(|segment| segment.live < segment.file.length()) {
            segment.file.cut_back(segment.live, space);
        }
    }

    /// Ends the streams. Nothing can be appended afterwards.
    pub(crate) fn finish(&mut self, space: &mut Space) -> io::Result<()> {
        for segment in self.open.values_mut().filter(|segment| segment.file.is_sound()) {
            segment.file.append(&END_OF_STREAM, space)?;
            if self.sync {
                segment.file.sync()?;
            }
        }
        if self.sync { sync_directory(&self.dir) } else { Ok(()) }
    }
}

fn write_schema(
    file: &mut AppendFile,
    rows: &dyn AnyTableRows,
    encoder: &mut Encoder,
    sync: bool,
    space: &mut Space,
) -> io::Result<SegmentEntry> {
    let mut message = Vec::new();
    encoder.schema(rows.schema(), &mut message)?;
    file.append(&message, space)?;
    if sync {
        file.sync()?;
    }
    Ok(SegmentEntry {
        file: file.name(),
        table: rows.name().to_owned(),
        length: message.len() as u64,
        crc32c: crc32c::crc32c(&message),
    })
}
