//! Consolidation: the rows of many flushes become one well-sorted batch of each table's segment.
//!
//! The order of steps makes a kill at any moment harmless: append the batches to the segments and sync; make them live
//! and the recent files dead with one journal line; only then delete the recent files.

use std::io;

use model::time::Moment;

use super::Writer;
use crate::append::AppendFile;
use crate::journal::{BatchEntry, Entry};
use crate::recent;

impl Writer {
    /// Moves the flushed rows into the segments. If that fails they stay in the recent files, which are just as
    /// readable.
    pub(super) fn consolidate(&mut self, now: Moment) {
        self.flushes = 0;
        self.unconsolidated.extend(self.recent.take());
        if self.unconsolidated.is_empty() {
            return;
        }
        loop {
            match self.try_consolidate(now) {
                Ok(()) => break self.remove_recent(),
                Err(error) => {
                    self.roll_back();
                    if self.trouble.is_full() {
                        break self.unconsolidated.clear();
                    }
                    self.degrade(&error, now);
                }
            }
        }
        self.tables.all_mut().into_iter().for_each(|rows| rows.clear());
    }

    fn try_consolidate(&mut self, at: Moment) -> io::Result<()> {
        let batches = self.append_batches()?;
        let replaces: Vec<String> = self.unconsolidated.iter().map(AppendFile::name).collect();
        let generation = replaces.first().and_then(|name| recent::generation_of(name)).unwrap_or(self.generation);
        let entry = Entry::Consolidated { at, generation, replaces, batches };
        self.journal.write(&[entry], &mut self.space)?;
        self.segments.commit();
        Ok(())
    }

    /// Takes back what was appended to the segments, unless the journal may list it.
    pub(super) fn roll_back(&mut self) {
        if !self.journal.is_uncertain() {
            self.segments.roll_back(&mut self.space);
        }
    }

    fn append_batches(&mut self) -> io::Result<Vec<BatchEntry>> {
        let mut entries = Vec::new();
        for rows in self.tables.all_mut() {
            let extent = rows.flushed_extent();
            if extent.rows == 0 {
                continue;
            }
            self.buffer.clear();
            rows.encode_flushed(&mut self.thorough, &mut self.buffer)?;
            self.segments.ensure(rows, &mut self.thorough, &mut self.journal, &mut self.space)?;
            entries.push(self.segments.append(rows.name(), &self.buffer, extent, &mut self.space)?);
        }
        Ok(entries)
    }

    fn remove_recent(&mut self) {
        for file in self.unconsolidated.drain(..) {
            file.remove(&mut self.space);
        }
    }
}
