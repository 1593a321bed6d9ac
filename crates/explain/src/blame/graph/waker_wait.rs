//! What a task waited for most in a time.

use model::stall::{Awaits, StallKind};

use crate::blame::facts::cause::Cause;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::graph::edge::Edge;
use crate::blame::intents::interruptions::choice::is_by_choice;

/// Waits of a task that are examined, the latest first: its last wait is what it kept others waiting for.
const LOOKED_AT: usize = 256;

/// What a waker waited for while others waited for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WakerWait {
    pub(crate) row: u32,
    pub(crate) cause: Cause,
    pub(crate) ns: u64,
}

/// Time by cause, and the longest row of each.
#[derive(Default)]
struct WaitsByCause([(u64, u64, u32); Cause::ALL.len()]);

impl WaitsByCause {
    fn add(&mut self, cause: Cause, ns: u64, row: u32) {
        if ns == 0 {
            return;
        }
        let (sum_ns, longest_ns, longest) = &mut self.0[cause as usize];
        *sum_ns += ns;
        if ns > *longest_ns {
            (*longest_ns, *longest) = (ns, row);
        }
    }

    fn longest(self) -> Option<WakerWait> {
        let waits = Cause::ALL.into_iter().map(|cause| (cause, self.0[cause as usize]));
        let longest =
            waits.max_by_key(|(cause, (sum_ns, ..))| (*sum_ns, *cause)).filter(|(_, (sum_ns, ..))| *sum_ns > 0);
        longest.map(|(cause, (ns, _, row))| WakerWait { row, cause, ns })
    }
}

/// A task's main wait while it kept another one waiting; `None` where no wait is recorded. While it holds a lock, a
/// task has work.
pub(crate) fn longest(index: &RunIndex, edge: &Edge, is_foreign: &dyn Fn(&Row) -> bool) -> Option<WakerWait> {
    let Edge { tid, from_ns, to_ns, held } = *edge;
    let mut sleeps = WaitsByCause::default();
    let mut spans = WaitsByCause::default();
    let rows = || index.rows_between(tid, from_ns, to_ns).take(LOOKED_AT);
    // Polls see a wait, too, that is recorded when it ends: it counts once.
    let is_recorded = |poll: &Row| {
        let is_of =
            |row: &Row| row.kind == StallKind::OffCpu && row.start_ns < poll.end_ns && poll.start_ns < row.end_ns;
        poll.kind == StallKind::Blocked && rows().any(|(_, row)| is_of(row))
    };
    for (at, row) in rows().filter(|(_, row)| !is_recorded(row) && !is_foreign(row)) {
        let awaits_work = index.awaits(row).is_some_and(Awaits::is_idle);
        let idle = held.is_none() && (awaits_work || index.stack(row.stack.get()).is_some_and(|stack| stack.idle));
        // An idle task had no work; from its wakeup on it was late.
        let (cause, since_ns) =
            if idle { (row.runnable_cause(), row.runnable_ns) } else { (cause_of_wait(index, at), row.start_ns) };
        let ns = row.end_ns.min(to_ns).saturating_sub(since_ns.max(from_ns));
        match row.kind {
            StallKind::OffCpu | StallKind::Blocked => sleeps.add(cause, ns, at),
            StallKind::Span if row.announced.is_some() => spans.add(cause, ns, at),
            _ => {}
        }
    }
    // Spans contain sleeps, and sleeps have wakers.
    sleeps.longest().or_else(|| spans.longest()).map(|wait| WakerWait { ns: wait.ns.min(to_ns - from_ns), ..wait })
}

/// Its last wait for a message that somebody sent.
pub(crate) fn last_message(index: &RunIndex, edge: &Edge) -> Option<WakerWait> {
    let Edge { tid, from_ns, to_ns, .. } = *edge;
    let is_it = |row: &Row| index.awaits(row).is_some_and(Awaits::is_idle) && index.waker(row).is_some();
    let mut rows = index.rows_between(tid, from_ns, to_ns).take(LOOKED_AT);
    let (at, last) = rows.find(|(_, row)| row.kind == StallKind::OffCpu && is_it(row))?;
    let ns = last.runnable_ns.min(to_ns).saturating_sub(last.start_ns.max(from_ns));
    Some(WakerWait { row: at, cause: index.main_cause(at), ns })
}

/// What a wait of the chain was for: by its row, or by the choice of its task.
fn cause_of_wait(index: &RunIndex, at: u32) -> Cause {
    match index.main_cause(at) {
        Cause::Unexplained if is_by_choice(index, index.row(at)) => Cause::Sleep,
        cause => cause,
    }
}
