//! What each row is asked for very often: its request, its main cause.

use super::RunIndex;
use crate::blame::facts::cause::Cause;
use crate::blame::facts::maybe::Maybe;
use crate::blame::facts::rows::Row;
use crate::threads::map;

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
