//! A full or failing disk: which tables are given up, in which order.

use std::io;

use model::event::RunEvent;
use model::loss_kind::{EVENTS, rows_of};
use model::time::Moment;

use super::Writer;
use crate::space::is_full;

impl Writer {
    /// Gives up the least important tables that are still written. On a full disk a part of the reserve makes space for
    /// the others; on a broken disk all are given up.
    pub(super) fn degrade(&mut self, error: &io::Error, now: Moment) {
        let full = is_full(error);
        let why = match error.raw_os_error() {
            Some(_) if full => format!("disk full: {error}"),
            None if full => error.to_string(),
            _ => format!("write failed: {error}"),
        };
        let kept = self.tables.all().into_iter().filter(|rows| !rows.is_dropped());
        let least = kept.map(|rows| rows.priority()).min();
        for rows in self.tables.all_mut() {
            if rows.is_dropped() || (full && Some(rows.priority()) != least) {
                continue;
            }
            rows.give_up();
            self.trouble.dropped(rows.name());
            let table = rows.name().to_owned();
            self.events.push(RunEvent::TableDropped { table, why: why.clone(), at_ns: now.monotonic_ns });
        }
        self.space.release_part();
        let nothing_left = self.tables.all().iter().all(|rows| rows.is_dropped());
        self.trouble.caused_by(why, nothing_left);
    }

    /// Records in the journal how many rows and events are missing.
    pub(super) fn report_losses(&mut self, now: Moment) {
        let tables = self.tables.all().map(|rows| (rows_of(rows.name()), rows.lost()));
        let events = (EVENTS.name.to_owned(), self.lost_events);
        for (what, count) in tables.into_iter().chain([events]).filter(|(_, count)| *count > 0) {
            self.events.push(RunEvent::Loss { what, count, at_ns: now.monotonic_ns });
        }
    }
}
