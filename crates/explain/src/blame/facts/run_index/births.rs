//! Tasks that began while others waited.

use super::RunIndex;

impl RunIndex {
    /// Call this when the rows are in order.
    pub(super) fn find_births(&mut self) {
        for row in self.rows.iter().filter(|row| row.waker_is_newer) {
            let Some(waker) = row.noted.whom.get().filter(|waker| *waker != 0) else { continue };
            let after_ns = self.born_after_ns.entry(waker).or_default();
            *after_ns = row.start_ns.max(*after_ns);
        }
    }

    /// Whether a task is known to have begun after a moment. Of most tasks nothing is known.
    pub(crate) fn began_after(&self, tid: u32, at_ns: u64) -> bool {
        self.born_after_ns.get(&tid).is_some_and(|after_ns| *after_ns >= at_ns)
    }
}
