//! Whom a task woke, of a run.

use std::ops::Range;

use super::RunIndex;
use crate::blame::facts::woken::Woken;

impl RunIndex {
    /// Whether a task woke another one within a time.
    pub(crate) fn woke_any(&self, tid: u32, within_ns: Range<u64>) -> bool {
        let woken = self.woken.get_or_init(|| Woken::new(&self.rows, |row| self.whom(row)));
        woken.by(tid, within_ns).any(|at| self.waker(self.row(at)) == Some(tid))
    }
}
