//! A flush: pending rows become one record of the recent file.

use std::io;

use model::time::Moment;

use super::Writer;
use crate::append::AppendFile;
use crate::disk::sync_directory;
use crate::journal::Entry;
use crate::line;
use crate::options::FlushState;
use crate::recent::{self, FlushHeader, RecentBatch};
use crate::space::is_full;

impl Writer {
    /// Writes everything that was added since the last flush, and waits until it is on the disk.
    ///
    /// It never fails: on a full disk it gives up tables, the least important first, until the rest can be written.
    pub fn flush(&mut self, now: Moment) -> FlushState {
        while !self.trouble.is_full() {
            match self.write_direct(now).and_then(|()| self.write_recent(now)) {
                Ok(()) => break,
                Err(error) => self.degrade(&error, now),
            }
        }
        if self.is_consolidation_due() {
            self.consolidate(now);
        }
        self.flush_events(now);
        self.trouble.state()
    }

    /// Appends the events to the journal. On a full disk it gives up tables for them, and then the rest of the reserve.
    pub(super) fn flush_events(&mut self, now: Moment) {
        while !self.events.is_empty() {
            let entries: Vec<Entry> = self.events.iter().map(|what| Entry::Event { what: what.clone() }).collect();
            match self.journal.write(&entries, &mut self.space) {
                Ok(()) => self.events.clear(),
                Err(error) if !self.trouble.is_full() => self.degrade(&error, now),
                Err(error) if is_full(&error) && self.space.release_part() => {}
                Err(_) => self.lost_events += self.events.drain(..).count() as u64,
            }
        }
    }

    fn write_recent(&mut self, now: Moment) -> io::Result<()> {
        self.ensure_segments()?;
        self.open_recent()?;
        let mut record = std::mem::take(&mut self.buffer);
        let outcome = self.encode_record(now, &mut record).and_then(|()| self.append_recent(&record));
        self.buffer = record;
        outcome?;
        self.flushes += 1;
        self.recent_flushes += 1;
        self.tables.all_mut().into_iter().for_each(|rows| rows.accept());
        Ok(())
    }

    /// Creates segments first: a recent file's batches use their schemas.
    fn ensure_segments(&mut self) -> io::Result<()> {
        for rows in self.tables.all().into_iter().filter(|rows| rows.pending() > 0) {
            self.segments.ensure(rows, &mut self.thorough, &mut self.journal, &mut self.space)?;
        }
        Ok(())
    }

    /// Lays out the header line and the batches, one after another.
    fn encode_record(&mut self, at: Moment, record: &mut Vec<u8>) -> io::Result<()> {
        let mut bodies = Vec::with_capacity(record.capacity());
        let mut batches = Vec::new();
        for rows in self.tables.all().into_iter().filter(|rows| rows.pending() > 0) {
            let start = bodies.len();
            rows.encode_pending(&mut self.quick, &mut bodies)?;
            let extent = rows.pending_extent();
            batches.push(RecentBatch {
                table: rows.name().to_owned(),
                length: (bodies.len() - start) as u64,
                crc32c: crc32c::crc32c(&bodies[start..]),
                rows: extent.rows,
                span_ns: extent.span_ns,
            });
        }
        record.clear();
        let (generation, flush) = (Some(self.generation), Some(self.recent_flushes));
        line::push(record, &FlushHeader { at, generation, flush, batches })?;
        record.extend_from_slice(&bodies);
        Ok(())
    }

    fn append_recent(&mut self, record: &[u8]) -> io::Result<()> {
        let file = self.recent.as_mut().expect("open_recent was called before");
        self.journal.append_recent(file, record, &mut self.space)
    }

    /// Begins the next recent file if there is none or the last one cannot be continued.
    fn open_recent(&mut self) -> io::Result<()> {
        if self.recent.as_ref().is_some_and(AppendFile::is_sound) {
            return Ok(());
        }
        self.unconsolidated.extend(self.recent.take());
        let file = AppendFile::create(&self.dir.join(recent::file_name(self.generation + 1)))?;
        // The journal may name it only when a power cut cannot take it any more: btrfs keeps the journal's line without
        // the name.
        let named = if self.options.sync { sync_directory(&self.dir) } else { Ok(()) };
        let listed = named.and_then(|()| self.journal.write(&[Entry::Recent { file: file.name() }], &mut self.space));
        if let Err(error) = listed {
            if !self.journal.is_uncertain() {
                file.remove(&mut self.space);
            }
            return Err(error);
        }
        self.generation += 1;
        self.recent_flushes = 0;
        self.recent = Some(file);
        Ok(())
    }

    fn is_consolidation_due(&self) -> bool {
        let weight: usize = self.tables.all().iter().map(|rows| rows.weight()).sum();
        self.flushes >= self.options.consolidate_after_flushes || weight >= self.options.consolidate_after_bytes
    }
}
