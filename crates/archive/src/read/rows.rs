//! Batches → typed rows, one batch in memory at a time.

use std::marker::PhantomData;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::vec;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use model::damage::Damage;

use super::damage_log::DamageLog;
use super::inventory::{Batch, OpenFile, SegmentSchema};
use crate::error::ArchiveError;
use crate::table::{Columns, Table};

/// Iterates over the batches of a table in the order of time. Each item is one batch's rows, or an error that names a
/// damaged batch; the batches after it are still read.
pub struct Batches<Row> {
    batches: vec::IntoIter<Batch>,
    damage: DamageLog,
    decode: fn(&Columns<'_>) -> Result<Vec<Row>, String>,
    row: PhantomData<Row>,
}

impl<Row> Batches<Row> {
    pub(super) fn new<T: Table<Row = Row>>(batches: Vec<Batch>, damage: DamageLog) -> Batches<Row> {
        let decode = |columns: &Columns<'_>| T::decode(columns).map_err(|error| error.to_string());
        Batches { batches: batches.into_iter(), damage, decode, row: PhantomData }
    }

    /// Selects batches by number, from 0, in the order of `numbers`; the others are not read.
    #[must_use]
    pub fn chosen(self, numbers: &[usize]) -> Batches<Row> {
        let all = self.batches.as_slice();
        let batches: Vec<Batch> = numbers.iter().filter_map(|number| all.get(*number).cloned()).collect();
        Batches { batches: batches.into_iter(), ..self }
    }
}

/// Where a batch is. A location never holds other rows later; rows of several locations may move to a new one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BatchLocation {
    path: PathBuf,
    offset: u64,
}

impl<Row> Batches<Row> {
    /// Skips batches whose rows all lie outside this time on the monotonic clock, both ends included. A batch with an
    /// unknown time stays.
    #[must_use]
    pub fn within(self, from_ns: u64, to_ns: u64) -> Batches<Row> {
        let overlaps = |batch: &Batch| batch.span_ns.is_none_or(|(first, last)| first <= to_ns && last >= from_ns);
        let batches: Vec<Batch> = self.batches.filter(overlaps).collect();
        Batches { batches: batches.into_iter(), ..self }
    }

    /// Locations of the batches that are not read yet. A reader that has read some of them continues with `skip`, which
    /// reads nothing.
    pub fn locations(&self) -> Vec<BatchLocation> {
        let location = |batch: &Batch| BatchLocation { path: batch.file.path.clone(), offset: batch.offset };
        self.batches.as_slice().iter().map(location).collect()
    }

    /// The time that the batches cover, where known.
    pub fn span_ns(&self) -> Option<(u64, u64)> {
        let union = |a: (u64, u64), b: (u64, u64)| (a.0.min(b.0), a.1.max(b.1));
        self.batches.as_slice().iter().filter_map(|batch| batch.span_ns).reduce(union)
    }
}

impl<Row> Iterator for Batches<Row> {
    type Item = Result<Vec<Row>, ArchiveError>;

    fn nth(&mut self, n: usize) -> Option<Self::Item> {
        if n > 0 {
            self.batches.nth(n - 1)?;
        }
        self.next()
    }

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batches.next()?;
        let rows = batch.read().and_then(|columns| (self.decode)(&Columns(&columns)));
        Some(rows.map_err(|why| {
            self.damage.add(batch.damage(&why));
            batch.damaged(why)
        }))
    }
}

impl Batch {
    /// Whether its bytes are as they were written.
    pub(super) fn verify(&self) -> Result<(), String> {
        read_exactly(&self.file, self.offset, self.length, self.crc32c).map(drop)
    }

    /// The batch's columns, if its checksum matches.
    pub(super) fn read(&self) -> Result<RecordBatch, String> {
        let schema = schema_message(&self.schema)?;
        let message = read_exactly(&self.file, self.offset, self.length, self.crc32c)?;
        let mut decoder = StreamDecoder::new();
        for bytes in [schema, message] {
            let decoded = decoder.decode(&mut Buffer::from_vec(bytes)).map_err(|error| error.to_string())?;
            if let Some(batch) = decoded {
                return Ok(batch);
            }
        }
        Err("it is not a record batch".to_owned())
    }

    /// The record of a damaged batch.
    pub(super) fn damage(&self, why: &str) -> Damage {
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
    pub(super) fn damaged(&self, why: String) -> ArchiveError {
        let table = self.schema.entry.table.clone();
        ArchiveError::Damaged { path: self.file.path.clone(), table, offset: self.offset, rows: self.rows, why }
    }
}

/// The Arrow schema message of a segment.
pub(super) fn schema_message(segment: &SegmentSchema) -> Result<Vec<u8>, String> {
    read_exactly(&segment.file, 0, segment.entry.length, segment.entry.crc32c)
        .map_err(|why| format!("its segment's schema: {why}"))
}

fn read_exactly(file: &OpenFile, offset: u64, length: u64, crc32c: u32) -> Result<Vec<u8>, String> {
    let size = file.file.metadata().map_err(|error| error.to_string())?.len();
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
