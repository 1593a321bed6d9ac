//! Clients whose requests no server hears: all of its workers wait for the requests of others, which come slowly.

use model::stall::{Awaits, StallKind};

use super::rows::Row;
use super::run_index::RunIndex;

/// A server that listens is awake this soon after a request, and its client has sent it this soon before.
pub(super) const HEARD_NS: u64 = 2_000_000;

/// Whether the thread that answers in the end slept on when the client asked, until somebody else sent it something, and the request woke
/// no other thread either. A worker of an idle server, or one that had taken up the request, would have been woken by it.
pub(super) fn is_unheard(index: &RunIndex, wait: &Row, server: u32) -> bool {
    let asked_ns = wait.asked_ns.map_or(wait.start_ns, |asked_ns| asked_ns.max(wait.start_ns.saturating_sub(HEARD_NS)));
    let sleeps_on = |row: &Row| {
        row.awaits == Some(Awaits::Message)
            && row.asked_ns.is_none()
            && row.start_ns < asked_ns
            && row.runnable_ns > asked_ns.saturating_add(HEARD_NS)
            && index.waker(row).is_some_and(|waker| waker != wait.tid)
    };
    wait.awaits == Some(Awaits::Answer)
        && index.rows_between(server, asked_ns, asked_ns).any(|(_, row)| sleeps_on(row))
        && !has_woken_another(index, wait.tid, asked_ns)
}

/// Whether a task woke any other one at about that time.
fn has_woken_another(index: &RunIndex, tid: u32, at_ns: u64) -> bool {
    let (from_ns, to_ns) = (at_ns.saturating_sub(HEARD_NS), at_ns.saturating_add(HEARD_NS));
    let is_its = |row: &Row| {
        row.kind == StallKind::OffCpu && (from_ns..to_ns).contains(&row.runnable_ns) && index.waker(row) == Some(tid)
    };
    let mut tasks = index.tasks_rows().filter_map(|(rows, _)| rows.first());
    tasks.any(|first| index.rows_between(first.tid, from_ns, to_ns).any(|(_, row)| is_its(row)))
}
