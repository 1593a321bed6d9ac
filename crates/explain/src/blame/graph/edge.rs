//! Whom a wait was for: the one place that all who follow waits ask.

use model::stall::{Awaits, StallKind};

use crate::blame::facts::cause::{Cause, traits};
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::run_index::lock_turns::Held;
use crate::blame::intents::locks::{holder, newer_wakers};

/// A task that kept another one waiting, and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Edge {
    pub(crate) tid: u32,
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
    /// It held the lock that the other one waited for.
    pub(crate) held: Option<Held>,
}

impl Edge {
    pub(crate) fn ns(&self) -> u64 {
        self.to_ns - self.from_ns
    }

    fn of_holder(held: Held) -> Edge {
        Edge { tid: held.tid, from_ns: held.from_ns, to_ns: held.to_ns, held: Some(held) }
    }
}

/// The tasks that a row waited for within a time, in order of time: the holders of a lock, one after the other, else
/// the task that ended it. Empty where none is known.
pub(crate) fn edges(index: &RunIndex, row: &Row, (from_ns, to_ns): (u64, u64)) -> Vec<Edge> {
    let within = |edge: Edge| {
        let edge = Edge { from_ns: edge.from_ns.max(from_ns), to_ns: edge.to_ns.min(to_ns), ..edge };
        (edge.from_ns < edge.to_ns).then_some(edge)
    };
    let mut edges: Vec<Edge> = holder::all(index, row).into_iter().map(Edge::of_holder).filter_map(within).collect();
    edges.sort_by_key(|edge| edge.from_ns);
    if edges.is_empty() {
        edges.extend(by_waker(index, row, (from_ns, to_ns)));
    }
    edges
}

/// The one that a row waited for the longest within a time.
pub(crate) fn longest(index: &RunIndex, row: &Row, span_ns: (u64, u64)) -> Option<Edge> {
    let by_holder = holder::longest_within(index, row, span_ns).map(Edge::of_holder);
    by_holder.or_else(|| by_waker(index, row, span_ns))
}

fn by_waker(index: &RunIndex, row: &Row, span_ns: (u64, u64)) -> Option<Edge> {
    let (from_ns, to_ns) = (row.start_ns.max(span_ns.0), row.runnable_ns.min(span_ns.1));
    let tid = ended_by(index, row, (row.start_ns, row.runnable_ns)).filter(|_| from_ns < to_ns)?;
    Some(Edge { tid, from_ns, to_ns, held: None })
}

/// The task that ended a sleep, or that sent the answer which came meanwhile, whatever ended the sleep.
pub(crate) fn ended_by(index: &RunIndex, row: &Row, (from_ns, to_ns): (u64, u64)) -> Option<u32> {
    let is_other = |sender: &u32| *sender != row.tid && index.awaits_task(row);
    let waker = index.waker(row).filter(|waker| !newer_wakers::cannot_have_held(index, row, *waker));
    waker.or_else(|| index.answers.sender(row.tid, from_ns, to_ns).filter(is_other))
}

/// Whether a wait of that cause has a task to blame that ended it. The task that lets a stopped one go on is not to
/// blame, nor that which thaws a file system: who froze it is noted with the wait.
pub(crate) fn leads_on(index: &RunIndex, row: &Row, cause: Cause) -> bool {
    // Who will end a wait that lasts is unknown, unless it is for a lock.
    let is_wait = matches!(row.kind, StallKind::OffCpu | StallKind::Asynchronous | StallKind::ServerRequest)
        || row.lock.get().is_some();
    // A timer wakes a task from any task that it interrupts, which did not act.
    let is_timer = row.lock.get().is_none() && index.awaits(row) == Some(Awaits::Interrupt);
    // Who makes room in a memory cgroup at last, or raises its limit, did not fill it.
    let is_ended_by_helper = matches!(cause, Cause::Stopped | Cause::Frozen | Cause::OutOfMemory);
    is_wait && !is_timer && !is_ended_by_helper && !cause.has(traits::FOR_CPU | traits::CHOSEN)
}
