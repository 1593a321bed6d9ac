//! What devices of the device mapper and md hold back.

use model::stall::StallKind;

use super::RunIndex;
use crate::blame::facts::cause::Cause;
use crate::blame::facts::rows::Row;

impl RunIndex {
    /// A file system has submitted the pages that are under writeback. Without a request of them, they are where it is
    /// mounted from.
    pub(super) fn or_mapper(&self, row: &Row, cause: Cause) -> Cause {
        if cause == Cause::WritebackWait && self.held_in(row).is_some() { Cause::Device } else { cause }
    }

    /// The mapper that may hold the pages back that a row waits for: those of its detail, else those of its system
    /// call's file.
    pub(crate) fn held_in(&self, row: &Row) -> Option<&str> {
        if self.mappers.is_empty() {
            return None;
        }
        if let Some(detail) = self.detail(row) {
            return self.mappers.of_detail(detail);
        }
        let mut rows = self.rows_between(row.tid, row.start_ns, row.end_ns);
        let path = rows.find_map(|(_, call)| call.path.filter(|_| call.kind == StallKind::SystemCall))?;
        self.mappers.of_path(self.names.get(path))
    }
}
