//! The rows of one table in memory: those of earlier flushes, waiting to be consolidated, and the pending ones.

use std::io;

use arrow_schema::SchemaRef;

use crate::encode::Encoder;
use crate::table::{self, Priority, Table};

/// Rows of one table.
pub(crate) struct TableRows<T: Table> {
    schema: SchemaRef,
    rows: Vec<T::Row>,
    flushed: usize,
    weight: usize,
    pending_weight: usize,
    pending_limit: usize,
    dropped: bool,
    lost: u64,
    total: u64,
}

impl<T: Table> TableRows<T> {
    /// No rows; at most `pending_limit` bytes of them are taken between two flushes.
    pub(crate) fn new(pending_limit: usize) -> TableRows<T> {
        TableRows {
            schema: table::schema::<T>(),
            rows: Vec::new(),
            flushed: 0,
            weight: 0,
            pending_weight: 0,
            pending_limit,
            dropped: false,
            lost: 0,
            total: 0,
        }
    }

    /// Takes rows up to the limit, and counts the rest as lost.
    pub(crate) fn extend(&mut self, rows: impl IntoIterator<Item = T::Row>) {
        for row in rows {
            let weight = T::weight(&row);
            if self.dropped || self.pending_weight + weight > self.pending_limit {
                self.lost += 1;
                continue;
            }
            self.pending_weight += weight;
            self.rows.push(row);
        }
    }
}

/// What readers know of a batch before they read it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    /// Rows.
    pub(crate) rows: u64,
    /// The time that they cover.
    pub(crate) span_ns: Option<(u64, u64)>,
}

impl Extent {
    fn of<T: Table>(rows: &[T::Row]) -> Extent {
        let union = |a: (u64, u64), b: (u64, u64)| (a.0.min(b.0), a.1.max(b.1));
        Extent { rows: rows.len() as u64, span_ns: rows.iter().filter_map(T::span_ns).reduce(union) }
    }
}

/// A table's rows, independent of their type.
pub(crate) trait AnyTableRows {
    /// The table's name.
    fn name(&self) -> &'static str;
    /// When the table is given up.
    fn priority(&self) -> Priority;
    /// Its columns.
    fn schema(&self) -> &SchemaRef;
    /// Rows that no flush has written yet.
    fn pending(&self) -> usize;
    /// Memory of the pending rows.
    fn pending_weight(&self) -> usize;
    /// Rows in memory, flushed or not.
    fn held(&self) -> usize;
    /// Memory of the flushed rows.
    fn weight(&self) -> usize;
    /// What a batch of the pending rows holds.
    fn pending_extent(&self) -> Extent;
    /// What a batch of the flushed rows holds.
    fn flushed_extent(&self) -> Extent;
    /// Appends the pending rows as one batch.
    fn encode_pending(&self, encoder: &mut Encoder, out: &mut Vec<u8>) -> io::Result<()>;
    /// Appends all flushed rows as one well-sorted batch.
    fn encode_flushed(&mut self, encoder: &mut Encoder, out: &mut Vec<u8>) -> io::Result<()>;
    /// The pending rows are on disk.
    fn accept(&mut self);
    /// The pending rows are on disk, in their segment.
    fn settle(&mut self);
    /// Drops the flushed rows.
    fn clear(&mut self);
    /// The pending rows are lost, and so are all later ones.
    fn give_up(&mut self);
    /// Whether the table was given up.
    fn is_dropped(&self) -> bool;
    /// Rows lost so far.
    fn lost(&self) -> u64;
    /// Rows on disk.
    fn total(&self) -> u64;
}

impl<T: Table> AnyTableRows for TableRows<T> {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn priority(&self) -> Priority {
        T::PRIORITY
    }

    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn pending(&self) -> usize {
        self.rows.len() - self.flushed
    }

    fn pending_weight(&self) -> usize {
        self.pending_weight
    }

    fn held(&self) -> usize {
        self.rows.len()
    }

    fn weight(&self) -> usize {
        self.weight
    }

    fn pending_extent(&self) -> Extent {
        Extent::of::<T>(&self.rows[self.flushed..])
    }

    fn flushed_extent(&self) -> Extent {
        Extent::of::<T>(&self.rows[..self.flushed])
    }

    fn encode_pending(&self, encoder: &mut Encoder, out: &mut Vec<u8>) -> io::Result<()> {
        encoder.batch(&table::batch::<T>(&self.schema, &self.rows[self.flushed..]), out)
    }

    fn encode_flushed(&mut self, encoder: &mut Encoder, out: &mut Vec<u8>) -> io::Result<()> {
        let flushed = &mut self.rows[..self.flushed];
        T::arrange(flushed);
        encoder.batch(&table::batch::<T>(&self.schema, flushed), out)
    }

    fn accept(&mut self) {
        self.total += self.pending() as u64;
        self.flushed = self.rows.len();
        self.weight += std::mem::take(&mut self.pending_weight);
    }

    fn settle(&mut self) {
        self.total += self.pending() as u64;
        self.rows.truncate(self.flushed);
        self.pending_weight = 0;
    }

    fn clear(&mut self) {
        self.rows.drain(..self.flushed);
        self.flushed = 0;
        self.weight = 0;
    }

    fn give_up(&mut self) {
        self.lost += self.pending() as u64;
        self.rows.truncate(self.flushed);
        self.pending_weight = 0;
        self.dropped = true;
    }

    fn is_dropped(&self) -> bool {
        self.dropped
    }

    fn lost(&self) -> u64 {
        self.lost
    }

    fn total(&self) -> u64 {
        self.total
    }
}
