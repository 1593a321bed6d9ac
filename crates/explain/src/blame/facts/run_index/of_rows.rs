//! What each row is asked for very often: its request, its main cause.

use model::stall::StallKind;

use super::RunIndex;
use crate::blame::facts::cause::Cause;
use crate::blame::facts::maybe::Maybe;
use crate::blame::facts::rows::Row;
use crate::blame::facts::storage::request::released_ns;
use crate::threads::map;
use crate::thresholds::SMALL_PART;

/// Rows of which a thread finds the causes at once.
const ROWS_AT_ONCE: usize = 16 << 10;

impl RunIndex {
    /// Finds the requests of rows that have arrived, and counts those that are not recorded.
    pub(super) fn find_requests(&mut self) {
        for row in self.arrived.iter_mut() {
            let Some(number) = row.request.get() else { continue };
            row.request_at = self.requests.place(number).into();
            self.unknown_requests += u64::from(row.request_at == Maybe::NONE);
        }
    }

    /// Flushes that a limit held before they became requests, which then bear no mark of it. Those that then waited in
    /// the queue have both causes.
    pub(super) fn find_held_flushes(&mut self) {
        let held = |row: &Row| {
            let place = row.request_at.get().filter(|_| row.kind == StallKind::OffCpu)?;
            let request =
                self.requests.at(place).filter(|request| !request.throttled && self.submits_flush(row, request))?;
            let (queued_ns, issued_ns) = (request.began_ns(), released_ns(request));
            let held_ns = queued_ns.checked_sub(row.start_ns)?;
            let is_most = issued_ns.saturating_sub(queued_ns) <= held_ns / SMALL_PART;
            let matters = held_ns > 0 && held_ns >= (row.runnable_ns - row.start_ns) / SMALL_PART;
            (is_most && matters).then_some((place, row.start_ns))
        };
        let held: Vec<(u32, u64)> = self.rows.iter().filter_map(held).collect();
        held.into_iter().for_each(|(place, since_ns)| self.requests.hold(place, since_ns));
    }

    /// The main cause of each row, found on two threads.
    pub(crate) fn find_causes(&mut self) {
        self.causes = self.causes_of_rows();
    }

    fn causes_of_rows(&self) -> Vec<Cause> {
        let parts: Vec<&[Row]> = self.rows.chunks(ROWS_AT_ONCE).collect();
        let causes = map(&parts, |rows| rows.iter().map(|row| self.find_main_cause(row)).collect::<Vec<Cause>>());
        causes.concat()
    }
}
