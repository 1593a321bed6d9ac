//! Waits of tasks → rows like the tracer's: long ones individually, short ones as aggregates.

use std::collections::BTreeMap;

use model::stall::{StallKind, StallRecord, Traced};

use crate::rows::{OffCpuState, Wait, WaitEnd};
use crate::signals::{Announced, Span};

/// Interval over which short waits are aggregated, like the tracer's.
const SUM_NS: u64 = 100_000_000;
/// Of the kernel's `__state`.
const RUNNABLE: u32 = 0;
const INTERRUPTIBLE: u32 = 1;
const UNINTERRUPTIBLE: u32 = 2;
const STOPPED: u32 = 4;

/// The waits so far, as needed by later rows.
pub(crate) struct Waits {
    /// Shorter waits are aggregated.
    least_ns: u64,
    /// Short waits by kind, task and stack.
    sums: BTreeMap<(u32, Option<u32>, bool), StallRecord>,
    /// Short spans by task and name.
    spans: BTreeMap<(u32, &'static str), StallRecord>,
}

impl Waits {
    pub(crate) fn new(least_ns: u64) -> Waits {
        Waits { least_ns, sums: BTreeMap::new(), spans: BTreeMap::new() }
    }

    /// Adds a wait. Returns whether it is recorded individually, so its request is wanted as well.
    pub(crate) fn add(&mut self, wait: &Wait, announced: Option<Announced>, rows: &mut Traced) -> bool {
        let is_long = wait.end_ns.saturating_sub(wait.start_ns) >= self.least_ns;
        if is_long {
            // As a poll of a task that still waits when the recording ends.
            let is_open = wait.end == WaitEnd::Unfinished && wait.state == OffCpuState::Blocked;
            let mut row = record(wait, if is_open { StallKind::StillBlocked } else { StallKind::OffCpu });
            if let Some(Announced { signal, detail, lock }) = announced {
                (row.tracepoint, row.detail, row.lock) = (Some(signal.definition().name.to_owned()), detail, lock);
            }
            rows.stalls.push(row);
        } else {
            let runnable_ns = wait.runnable_since_ns().unwrap_or(wait.end_ns).clamp(wait.start_ns, wait.end_ns);
            self.sum(&Wait { end_ns: runnable_ns, ..*wait }, StallKind::ShortSleeps, rows);
            self.sum(&Wait { start_ns: runnable_ns, stack: None, ..*wait }, StallKind::ShortCpuWaits, rows);
        }
        is_long
    }

    /// Adds a span of a task.
    pub(crate) fn add_span(&mut self, span: Span, rows: &mut Traced) {
        let Span { tid, signal, start_ns, end_ns, detail } = span;
        let name = signal.definition().name;
        let row =
            |kind| StallRecord { tracepoint: Some(name.to_owned()), ..StallRecord::new(kind, tid, start_ns, end_ns) };
        if end_ns.saturating_sub(start_ns) >= self.least_ns {
            rows.stalls.push(StallRecord { detail, ..row(StallKind::Span) });
            return;
        }
        if let Some(sum) = self.spans.get_mut(&(tid, name)).filter(|sum| end_ns <= sum.start_ns.saturating_add(SUM_NS))
        {
            extend(sum, start_ns, end_ns);
        } else {
            rows.stalls.extend(self.spans.insert((tid, name), row(StallKind::ShortSpans)));
        }
    }

    /// Emits the open aggregates at the end.
    pub(crate) fn finish(&mut self, rows: &mut Traced) {
        rows.stalls.extend(std::mem::take(&mut self.sums).into_values());
        rows.stalls.extend(std::mem::take(&mut self.spans).into_values());
    }

    fn sum(&mut self, wait: &Wait, kind: StallKind, rows: &mut Traced) {
        let key = (wait.tid, wait.stack, kind == StallKind::ShortCpuWaits);
        if wait.end_ns <= wait.start_ns {
            return;
        }
        if let Some(sum) = self.sums.get_mut(&key).filter(|sum| wait.end_ns <= sum.start_ns.saturating_add(SUM_NS)) {
            extend(sum, wait.start_ns, wait.end_ns);
        } else {
            rows.stalls.extend(self.sums.insert(key, record(wait, kind)));
        }
    }
}

/// Adds a loss to an aggregate.
fn extend(sum: &mut StallRecord, start_ns: u64, end_ns: u64) {
    sum.duration_ns = end_ns.saturating_sub(sum.start_ns).max(sum.duration_ns);
    sum.busy_ns += end_ns.saturating_sub(start_ns);
    sum.count += 1;
}

fn record(wait: &Wait, kind: StallKind) -> StallRecord {
    let is_single = matches!(kind, StallKind::OffCpu | StallKind::StillBlocked);
    StallRecord {
        state: state(wait.state),
        woken_ns: wait.woken_ns,
        waker_tid: wait.waker_tid,
        stack: wait.stack,
        // The waits of an aggregate each had a different request.
        request: wait.request.filter(|_| is_single),
        ..StallRecord::new(kind, wait.tid, wait.start_ns, wait.end_ns)
    }
}

fn state(state: OffCpuState) -> Option<u32> {
    match state {
        OffCpuState::Blocked => Some(UNINTERRUPTIBLE),
        OffCpuState::Sleeping => Some(INTERRUPTIBLE),
        OffCpuState::Stopped => Some(STOPPED),
        OffCpuState::Preempted => Some(RUNNABLE),
        OffCpuState::Unknown => None,
    }
}
