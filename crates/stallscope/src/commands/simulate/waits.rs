//! Waits of tasks → rows like the tracer's: long ones individually, short ones as aggregates.

use std::collections::{BTreeMap, HashMap};

use model::stall::{StackRecord, StallKind, StallRecord, Traced};
use simulate::observer::Wait;

/// Interval over which short waits are aggregated, like the tracer's.
const SUM_NS: u64 = 100_000_000;
/// `TASK_UNINTERRUPTIBLE`.
const UNINTERRUPTIBLE: u32 = 2;

/// The waits so far, as needed by later rows.
pub(super) struct Waits {
    /// Shorter waits are aggregated.
    least_ns: u64,
    stacks: HashMap<&'static [&'static str], u32>,
    /// Short waits by task and stack.
    sums: BTreeMap<(u32, u32), StallRecord>,
}

impl Waits {
    pub(super) fn new(least_ns: u64) -> Waits {
        Waits { least_ns, stacks: HashMap::new(), sums: BTreeMap::new() }
    }

    /// Adds a wait. Returns whether it is recorded individually, so its request is wanted as well.
    pub(super) fn add(&mut self, wait: &Wait, rows: &mut Traced) -> bool {
        let stack = self.stack(wait.frames, rows);
        let is_long = wait.end_ns.saturating_sub(wait.start_ns) >= self.least_ns;
        if is_long {
            rows.stalls.push(record(wait, StallKind::OffCpu, stack));
        } else {
            self.sum(wait, stack, rows);
        }
        is_long
    }

    /// Emits the open aggregates at the end.
    pub(super) fn finish(&mut self, rows: &mut Traced) {
        rows.stalls.extend(std::mem::take(&mut self.sums).into_values());
    }

    fn sum(&mut self, wait: &Wait, stack: u32, rows: &mut Traced) {
        let key = (wait.tid, stack);
        if let Some(sum) = self.sums.get_mut(&key).filter(|sum| wait.end_ns <= sum.start_ns.saturating_add(SUM_NS)) {
            sum.duration_ns = wait.end_ns.saturating_sub(sum.start_ns).max(sum.duration_ns);
            sum.busy_ns += wait.end_ns.saturating_sub(wait.start_ns);
            sum.count += 1;
        } else if wait.end_ns > wait.start_ns {
            rows.stalls.extend(self.sums.insert(key, record(wait, StallKind::ShortSleeps, stack)));
        }
    }

    fn stack(&mut self, frames: &'static [&'static str], rows: &mut Traced) -> u32 {
        let next = self.stacks.len() as u32;
        *self.stacks.entry(frames).or_insert_with(|| {
            let frames = frames.iter().map(|&frame| frame.to_owned()).collect();
            rows.stacks.push(StackRecord { stack: next, frames });
            next
        })
    }
}

fn record(wait: &Wait, kind: StallKind, stack: u32) -> StallRecord {
    StallRecord {
        state: Some(UNINTERRUPTIBLE),
        woken_ns: Some(wait.end_ns),
        waker_tid: wait.waker_tid,
        stack: Some(stack),
        // The waits of an aggregate each had a different request.
        request: wait.request.filter(|_| kind == StallKind::OffCpu),
        ..StallRecord::new(kind, wait.tid, wait.start_ns, wait.end_ns)
    }
}
