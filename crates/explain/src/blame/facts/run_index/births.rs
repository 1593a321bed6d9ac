//! Tasks that began while others waited.

use super::RunIndex;

/// A task that began while another one waited for it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Birth {
    /// It began after this moment.
    after_ns: u64,
    /// Who started it; 0: unknown.
    starter: u32,
}

impl RunIndex {
    /// Call this when the rows are in order.
    pub(super) fn find_births(&mut self) {
        for row in self.rows.iter().filter(|row| row.waker_is_newer) {
            let Some(waker) = row.noted.whom.get().filter(|waker| *waker != 0) else { continue };
            let birth = self.births.entry(waker).or_default();
            birth.after_ns = row.start_ns.max(birth.after_ns);
            birth.starter = row.worker_tid.get().unwrap_or(birth.starter);
        }
    }

    /// Whether a task is known to have begun after a moment. Of most tasks nothing is known.
    pub(crate) fn began_after(&self, tid: u32, at_ns: u64) -> bool {
        self.births.get(&tid).is_some_and(|birth| birth.after_ns >= at_ns)
    }

    /// Who started a task that is known to have begun after a moment.
    pub(crate) fn starter_after(&self, tid: u32, at_ns: u64) -> Option<u32> {
        let birth = self.births.get(&tid).filter(|birth| birth.after_ns >= at_ns)?;
        Some(birth.starter).filter(|starter| *starter != 0)
    }
}
