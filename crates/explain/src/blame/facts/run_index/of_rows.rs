//! What each row is asked for very often: its request, its main cause.

use super::RunIndex;
use crate::blame::facts::cause::Cause;
use crate::blame::facts::rows::Row;
use crate::threads::map;

/// Rows of which a thread finds the causes at once.
const ROWS_AT_ONCE: usize = 16 << 10;

impl RunIndex {
    /// Rows with a request that is not recorded. Call this before the rows are sorted.
    pub(crate) fn unknown_requests(&self) -> u64 {
        let is_unknown = |row: &&Row| row.request.get().is_some_and(|number| self.requests.get(number).is_none());
        self.arrived.iter().filter(is_unknown).count() as u64
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
