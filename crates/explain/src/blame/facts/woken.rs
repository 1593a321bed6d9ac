//! Whom a task woke, and when.

use std::ops::Range;

use model::stall::StallKind;

use crate::blame::facts::rows::Row;
use crate::hashing::FastMap;

/// The sleeps that each task ended: when, and their rows. In order.
#[derive(Debug, Default)]
pub(crate) struct Woken {
    by_waker: FastMap<u32, Vec<(u64, u32)>>,
}

impl Woken {
    pub(crate) fn new(rows: &[Row], whom: impl Fn(&Row) -> Option<u32>) -> Woken {
        let mut woken = Woken::default();
        for (row, at) in rows.iter().zip(0..).filter(|(row, _)| row.kind == StallKind::OffCpu) {
            let waker = whom(row);
            waker.into_iter().for_each(|tid| woken.by_waker.entry(tid).or_default().push((row.runnable_ns, at)));
        }
        woken.by_waker.values_mut().for_each(|sleeps| sleeps.sort_unstable());
        woken
    }

    /// Rows of the sleeps that a task ended within a time.
    pub(crate) fn by(&self, tid: u32, within_ns: Range<u64>) -> impl Iterator<Item = u32> {
        let sleeps = self.by_waker.get(&tid).map_or(&[][..], Vec::as_slice);
        let first = sleeps.partition_point(|sleep| sleep.0 < within_ns.start);
        sleeps[first..].iter().take_while(move |sleep| sleep.0 < within_ns.end).map(|sleep| sleep.1)
    }
}
