//! A live batch: where its bytes are, and their columns.

use std::os::unix::fs::FileExt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use model::damage::Damage;

use super::message::{self, MAX_BYTES};
use crate::error::ArchiveError;
use crate::input::OpenFile;
use crate::journal::SegmentEntry;

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

/// The schema message at the beginning of a segment.
#[derive(Debug)]
pub(crate) struct SegmentSchema {
    /// The segment.
    pub(crate) file: Arc<OpenFile>,
    /// Its entry in the journal.
    pub(crate) entry: SegmentEntry,
}

impl Batch {
    /// Whether its bytes are as they were written.
    pub(crate) fn verify(&self) -> Result<(), String> {
        read_exactly(&self.file, self.offset, self.length, self.crc32c).map(drop)
    }

    /// The batch's columns, if its checksum matches.
    pub(crate) fn read(&self) -> Result<RecordBatch, String> {
        let schema = schema_message(&self.schema)?;
        let message = read_exactly(&self.file, self.offset, self.length, self.crc32c)?;
        message::decode(schema, message, self.rows)
    }

    /// The record of a damaged batch.
    pub(crate) fn damage(&self, why: &str) -> Damage {
        let file = self.file.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Damage {
            table: Some(self.schema.entry.table.clone()),
            offset: Some(self.offset),
            bytes: Some(self.length),
            rows: Some(self.rows),
            span_ns: self.span_ns,
            ..Damage::of_file(&file, why)
        }
    }

    /// The error for a damaged batch.
    pub(crate) fn damaged(&self, why: String) -> ArchiveError {
        let table = self.schema.entry.table.clone();
        ArchiveError::Damaged { path: self.file.path.clone(), table, offset: self.offset, rows: self.rows, why }
    }
}

/// The Arrow schema message of a segment.
pub(crate) fn schema_message(segment: &SegmentSchema) -> Result<Vec<u8>, String> {
    read_exactly(&segment.file, 0, segment.entry.length, segment.entry.crc32c)
        .map_err(|why| format!("its segment's schema: {why}"))
}

fn read_exactly(file: &OpenFile, offset: u64, length: u64, crc32c: u32) -> Result<Vec<u8>, String> {
    let size = file.file.metadata().map_err(|error| error.to_string())?.len();
    // Also a file without blocks can be that large.
    if length > MAX_BYTES {
        return Err(format!("it claims {length} bytes, more than {MAX_BYTES}"));
    }
    if offset.checked_add(length).is_none_or(|end| end > size) {
        return Err(format!("the file ends at {size}"));
    }
    let mut bytes = vec![0; length as usize];
    file.file.read_exact_at(&mut bytes, offset).map_err(|error| error.to_string())?;
    if crc32c::crc32c(&bytes) != crc32c {
        return Err("its checksum differs".to_owned());
    }
    Ok(bytes)
}
