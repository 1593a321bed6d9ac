//! Bursts: a table with very many rows in one flush.
//!
//! Such rows are a large enough batch. They go directly into the table's segment instead of being written twice and
//! kept in memory in between; a journal line makes them live, as at a consolidation.

use std::io;

use model::time::Moment;

use super::Writer;
use super::table_rows::AnyTableRows;
use crate::journal::{BatchEntry, Entry};

impl Writer {
    /// Writes the pending rows of tables that have very many.
    pub(super) fn write_direct(&mut self, at: Moment) -> io::Result<()> {
        let least = self.options.direct_after_bytes;
        let is_burst = |rows: &dyn AnyTableRows| rows.pending_weight() >= least;
        let bursts: Vec<&dyn AnyTableRows> = self.tables.all().into_iter().filter(|rows| is_burst(*rows)).collect();
        if bursts.is_empty() {
            return Ok(());
        }
        if bursts.iter().any(|rows| rows.held() > rows.pending()) {
            // A table's batches are in the order of time, so its earlier rows must become a batch first.
            self.consolidate(at);
        }
        let written = self.append_bursts(is_burst).and_then(|batches| {
            let generation = self.generation + u32::from(self.recent.is_none());
            let entry = Entry::Consolidated { at, generation, replaces: Vec::new(), batches };
            self.journal.write(&[entry], &mut self.space)
        });
        written.inspect_err(|_| self.roll_back())?;
        self.segments.commit();
        self.tables.all_mut().into_iter().filter(|rows| is_burst(*rows)).for_each(|rows| rows.settle());
        Ok(())
    }

    fn append_bursts(&mut self, is_burst: impl Fn(&dyn AnyTableRows) -> bool) -> io::Result<Vec<BatchEntry>> {
        let mut entries = Vec::new();
        for rows in self.tables.all().into_iter().filter(|rows| is_burst(*rows)) {
            self.buffer.clear();
            rows.encode_pending(&mut self.quick, &mut self.buffer)?;
            self.segments.ensure(rows, &mut self.thorough, &mut self.journal, &mut self.space)?;
            entries.push(self.segments.append(rows.name(), &self.buffer, rows.pending_extent(), &mut self.space)?);
        }
        Ok(entries)
    }
}
