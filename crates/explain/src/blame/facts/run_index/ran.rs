//! Whether a task ran, in which no long wait was seen.

use std::sync::PoisonError;

use model::stall::StallKind;

use crate::blame::facts::covered::innermost;
use crate::blame::facts::known::KnownTime;
use crate::blame::facts::run_index::RunIndex;

impl RunIndex {
    /// Whether it is known to have run for most of a time.
    pub(crate) fn ran(&self, tid: u32, from_ns: u64, to_ns: u64) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.entry(tid).or_insert_with(|| {
            let off = self.rows_of(tid).filter(|(_, row)| row.kind == StallKind::OffCpu);
            let off = innermost(off.map(|(at, row)| (row.start_ns, row.end_ns, at)).collect());
            KnownTime::new(self.slice_of(tid), &[], &off)
        });
        known.running_ns(from_ns, to_ns) >= (to_ns - from_ns) / 2
    }
}
