//! Whom a task woke, of a run.

use std::ops::Range;

use super::RunIndex;
use crate::blame::facts::woken::Woken;

impl RunIndex {
    /// Whether a task woke another one within a time.
    pub(crate) fn woke_any(&self, tid: u32, within_ns: Range<u64>) -> bool {
        let woken = self.woken.get_or_init(|| Woken::new(&self.rows));
        woken.by(tid, within_ns).any(|at| self.waker(self.row(at)) == Some(tid))
    }

    /// These rows wait for these servers.
    pub(crate) fn wait_for_servers(&mut self, rows: &[(u32, u32)]) {
        for &(at, server) in rows {
            self.rows[at as usize].waker_tid = Some(server).into();
            self.find_cause_again(at);
        }
        self.woken.take();
    }
}
