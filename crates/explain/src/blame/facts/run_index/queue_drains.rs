//! Tasks that wait until a request queue is empty: they have frozen it, to change it.

use model::stall::StallKind;
use model::wait_kind::WaitKind;

use super::RunIndex;
use crate::blame::facts::drain::Drain;
use crate::blame::facts::rows::Row;

impl RunIndex {
    /// By their begin. There are few: somebody changes a scheduler, or the size of a disk.
    pub(super) fn find_queue_drains(&mut self) {
        let drains = self.rows.iter().filter(|row| self.is_for_queue(row, WaitKind::RequestQueueDrain));
        let drain = |row: &Row| Drain { from_ns: row.start_ns, to_ns: row.runnable_ns, tid: row.tid };
        let mut drains: Vec<Drain> = drains.map(drain).collect();
        drains.sort_unstable();
        self.queue_drains = drains;
    }

    /// Whether a task sleeps for a queue that is frozen.
    pub(crate) fn is_for_frozen_queue(&self, row: &Row) -> bool {
        !self.queue_drains.is_empty() && self.is_for_queue(row, WaitKind::FrozenRequestQueue)
    }

    fn is_for_queue(&self, row: &Row, kind: WaitKind) -> bool {
        let is_wait = matches!(row.kind, StallKind::OffCpu | StallKind::Blocked);
        let rule = self.stack(row.stack.get()).and_then(|stack| stack.rule);
        is_wait && rule.is_some_and(|rule| rule.kind == kind)
    }
}
