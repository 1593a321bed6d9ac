//! Tasks that began while others waited.

use super::RunIndex;

impl RunIndex {
    /// Call this when the rows are in order.
    pub(super) fn find_births(&mut self) {
        for row in self.rows.iter().filter(|row| row.waker_is_newer) {
            let Some(waker) = row.noted.whom.get().filter(|waker| *waker != 0) else { continue };
            let (after_ns, starter) = self.births.entry(waker).or_default();
            *after_ns = row.start_ns.max(*after_ns);
            *starter = row.worker_tid.get().unwrap_or(*starter);
        }
    }

    /// Whether a task is known to have begun after a moment. Of most tasks nothing is known.
    pub(crate) fn began_after(&self, tid: u32, at_ns: u64) -> bool {
        self.births.get(&tid).is_some_and(|(after_ns, _)| *after_ns >= at_ns)
    }

    /// Who started a task that is known to have begun after a moment.
    pub(crate) fn starter_after(&self, tid: u32, at_ns: u64) -> Option<u32> {
        let (_, starter) = self.births.get(&tid).filter(|(after_ns, _)| *after_ns >= at_ns)?;
        Some(*starter).filter(|starter| *starter != 0)
    }
}
