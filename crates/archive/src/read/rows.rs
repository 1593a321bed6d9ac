//! Batches → typed rows, one batch in memory at a time.

use std::marker::PhantomData;
use std::path::PathBuf;
use std::vec;

use super::batch::Batch;
use super::damage_log::DamageLog;
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
