//! Waits of tasks → rows like the tracer's: long ones individually, short ones as aggregates.

use std::collections::BTreeMap;

use model::stall::{StallKind, StallRecord, Traced};

use crate::rows::Wait;

/// Interval over which short waits are aggregated, like the tracer's.
const SUM_NS: u64 = 100_000_000;
/// `TASK_UNINTERRUPTIBLE`.
const UNINTERRUPTIBLE: u32 = 2;

/// The waits so far, as needed by later rows.
pub(crate) struct Waits {
    /// Shorter waits are aggregated.
    least_ns: u64,
    /// Short waits by task and stack.
    sums: BTreeMap<(u32, u32), StallRecord>,
}

impl Waits {
    pub(crate) fn new(least_ns: u64) -> Waits {
        Waits { least_ns, sums: BTreeMap::new() }
    }

    /// Adds a wait. Returns whether it is recorded individually, so its request is wanted as well.
    pub(crate) fn add(&mut self, wait: &Wait, rows: &mut Traced) -> bool {
        let is_long = wait.end_ns.saturating_sub(wait.start_ns) >= self.least_ns;
        if is_long {
            rows.stalls.push(record(wait, StallKind::OffCpu));
        } else {
            self.sum(wait, rows);
        }
        is_long
    }

    /// Emits the open aggregates at the end.
    pub(crate) fn finish(&mut self, rows: &mut Traced) {
        rows.stalls.extend(std::mem::take(&mut self.sums).into_values());
    }

    fn sum(&mut self, wait: &Wait, rows: &mut Traced) {
        let key = (wait.tid, wait.stack);
        if let Some(sum) = self.sums.get_mut(&key).filter(|sum| wait.end_ns <= sum.start_ns.saturating_add(SUM_NS)) {
            sum.duration_ns = wait.end_ns.saturating_sub(sum.start_ns).max(sum.duration_ns);
            sum.busy_ns += wait.end_ns.saturating_sub(wait.start_ns);
            sum.count += 1;
        } else if wait.end_ns > wait.start_ns {
            rows.stalls.extend(self.sums.insert(key, record(wait, StallKind::ShortSleeps)));
        }
    }
}

fn record(wait: &Wait, kind: StallKind) -> StallRecord {
    StallRecord {
        state: Some(UNINTERRUPTIBLE),
        woken_ns: Some(wait.end_ns),
        waker_tid: wait.waker_tid,
        stack: Some(wait.stack),
        // The waits of an aggregate each had a different request.
        request: wait.request.filter(|_| kind == StallKind::OffCpu),
        ..StallRecord::new(kind, wait.tid, wait.start_ns, wait.end_ns)
    }
}
