//! Floods: a table with very many rows in one flush.
//!
//! Such rows make a good batch by themselves. They go straight into the table's segment, instead of being written twice
//! and kept in memory in between, and a journal line makes them live as it does at a consolidation.

use std::io;

use model::time::Moment;

use super::Writer;
use super::shelf::Shelf;
use crate::journal::{BatchEntry, Entry};

impl Writer {
    /// Writes the pending rows of tables that have very many.
    pub(super) fn write_direct(&mut self, at: Moment) -> io::Result<()> {
        let least = self.options.direct_after_bytes;
        let is_flooded = |shelf: &dyn Shelf| shelf.pending_weight() >= least;
        let flooded: Vec<&dyn Shelf> = self.tables.all().into_iter().filter(|shelf| is_flooded(*shelf)).collect();
        if flooded.is_empty() {
            return Ok(());
        }
        if flooded.iter().any(|shelf| shelf.held() > shelf.pending()) {
            // A table's batches are in the order of time, and its earlier rows have none yet.
            self.consolidate(at);
        }
        let written = self.append_flooded(is_flooded).and_then(|batches| {
            let generation = self.generation + u32::from(self.recent.is_none());
            let entry = Entry::Consolidated { at, generation, replaces: Vec::new(), batches };
            self.journal.write(&[entry], &mut self.space)
        });
        written.inspect_err(|_| self.segments.roll_back(&mut self.space))?;
        self.segments.commit();
        self.tables.all_mut().into_iter().filter(|shelf| is_flooded(*shelf)).for_each(|shelf| shelf.settle());
        Ok(())
    }

    fn append_flooded(&mut self, is_flooded: impl Fn(&dyn Shelf) -> bool) -> io::Result<Vec<BatchEntry>> {
        let mut entries = Vec::new();
        for shelf in self.tables.all().into_iter().filter(|shelf| is_flooded(*shelf)) {
            self.buffer.clear();
            shelf.encode_pending(&mut self.quick, &mut self.buffer)?;
            self.segments.ensure(shelf, &mut self.thorough, &mut self.journal, &mut self.space)?;
            entries.push(self.segments.append(shelf.name(), &self.buffer, shelf.pending_extent(), &mut self.space)?);
        }
        Ok(entries)
    }
}
