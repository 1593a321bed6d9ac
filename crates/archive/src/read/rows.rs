//! Batches → typed rows, one batch in memory at a time.

use std::marker::PhantomData;
use std::os::unix::fs::FileExt;
use std::vec;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;

use super::inventory::{Batch, OpenFile, Schema};
use crate::error::ArchiveError;
use crate::table::{Columns, Table};

/// Iterates over the batches of a table in the order of time. Each item is one batch's rows, or an error that names a
/// damaged batch; the batches after it are still read.
pub struct Batches<Row> {
    batches: vec::IntoIter<Batch>,
    decode: fn(&Columns<'_>) -> Result<Vec<Row>, String>,
    row: PhantomData<Row>,
}

impl<Row> Batches<Row> {
    pub(super) fn new<T: Table<Row = Row>>(batches: Vec<Batch>) -> Batches<Row> {
        let decode = |columns: &Columns<'_>| T::decode(columns).map_err(|error| error.to_string());
        Batches { batches: batches.into_iter(), decode, row: PhantomData }
    }
}

impl<Row> Iterator for Batches<Row> {
    type Item = Result<Vec<Row>, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batches.next()?;
        let rows = batch.read().and_then(|columns| (self.decode)(&Columns(&columns)));
        Some(rows.map_err(|why| batch.damaged(why)))
    }
}

impl Batch {
    /// The batch's columns, if it is exactly as it was written.
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

    /// The error for a batch that is not as it was written.
    pub(super) fn damaged(&self, why: String) -> ArchiveError {
        let table = self.schema.entry.table.clone();
        ArchiveError::Damaged { path: self.file.path.clone(), table, offset: self.offset, rows: self.rows, why }
    }
}

/// The Arrow message that says what a segment's columns are.
pub(super) fn schema_message(segment: &Schema) -> Result<Vec<u8>, String> {
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
