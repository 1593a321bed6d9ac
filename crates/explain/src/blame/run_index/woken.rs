//! Whom a task woke, and when.

use std::ops::Range;

use model::stall::StallKind;

use super::super::rows::Row;
use super::RunIndex;
use crate::hashing::FastMap;

/// The sleeps that each task ended: when, and their rows. In order.
#[derive(Debug, Default)]
pub(super) struct Woken {
    by_waker: FastMap<u32, Vec<(u64, u32)>>,
}

impl Woken {
    fn new(rows: &[Row]) -> Woken {
        let mut woken = Woken::default();
        for (row, at) in rows.iter().zip(0..).filter(|(row, _)| row.kind == StallKind::OffCpu) {
            let waker = row.waker_tid.get();
            waker.into_iter().for_each(|tid| woken.by_waker.entry(tid).or_default().push((row.runnable_ns, at)));
        }
        woken.by_waker.values_mut().for_each(|sleeps| sleeps.sort_unstable());
        woken
    }
}

impl RunIndex {
    /// Whether a task woke another one within a time.
    pub(in super::super) fn woke_any(&self, tid: u32, within_ns: Range<u64>) -> bool {
        let woken = self.woken.get_or_init(|| Woken::new(&self.rows));
        let sleeps = woken.by_waker.get(&tid).map_or(&[][..], Vec::as_slice);
        let first = sleeps.partition_point(|sleep| sleep.0 < within_ns.start);
        let mut sleeps = sleeps[first..].iter().take_while(|sleep| sleep.0 < within_ns.end);
        sleeps.any(|&(_, at)| self.waker(self.row(at)) == Some(tid))
    }

    /// These rows wait for these servers.
    pub(in super::super) fn wait_for_servers(&mut self, rows: &[(u32, u32)]) {
        for &(at, server) in rows {
            self.rows[at as usize].waker_tid = Some(server).into();
            self.find_cause_again(at);
        }
        self.woken.take();
    }
}
