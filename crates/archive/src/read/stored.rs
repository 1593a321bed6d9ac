//! Tables as stored, for copies into other formats without decoding rows.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::batch::{Batch, SegmentSchema, schema_message};
use super::damage_log::DamageLog;
use super::message;
use super::run::Run;
use crate::error::ArchiveError;

/// A table of a run, with the columns as stored.
#[derive(Debug)]
pub struct StoredTable {
    /// Its name: the beginning of its files' names.
    pub name: String,
    /// Its columns: names, types and, as metadata, units.
    pub schema: SchemaRef,
    /// Rows, damaged batches included.
    pub rows: u64,
    batches: Vec<Batch>,
    damage: DamageLog,
}

impl StoredTable {
    /// The table's batches in the order of time, each read on demand. An item is a batch or an error that names a
    /// damaged one; the batches after it are still read.
    pub fn batches(&self) -> impl Iterator<Item = Result<RecordBatch, ArchiveError>> {
        self.batches.iter().map(|batch| {
            batch.read().map_err(|why| {
                self.damage.add(batch.damage(&why));
                batch.damaged(why)
            })
        })
    }
}

impl Run {
    /// The run's tables, in the order of creation; an error for a table whose schema cannot be read.
    pub fn tables(&self) -> impl Iterator<Item = Result<StoredTable, ArchiveError>> {
        // Further segments of a table have the same columns: one program wrote them all.
        let first = |number: usize, segment: &SegmentSchema| {
            !self.inventory.segments[..number].iter().any(|earlier| earlier.entry.table == segment.entry.table)
        };
        let segments = self.inventory.segments.iter().enumerate();
        segments.filter(move |(number, segment)| first(*number, segment)).map(|(_, segment)| {
            let name = segment.entry.table.clone();
            let batches = self.inventory.batches.get(&name).cloned().unwrap_or_default();
            let rows = batches.iter().map(|batch| batch.rows).sum();
            let damage = self.damage.clone();
            Ok(StoredTable { schema: schema_of(segment)?, name, rows, batches, damage })
        })
    }
}

fn schema_of(segment: &SegmentSchema) -> Result<SchemaRef, ArchiveError> {
    let damaged = |why| ArchiveError::Damaged {
        path: segment.file.path.clone(),
        table: segment.entry.table.clone(),
        offset: 0,
        rows: 0,
        why,
    };
    schema_message(segment).and_then(|message| message::decode_schema(&message)).map_err(damaged)
}
