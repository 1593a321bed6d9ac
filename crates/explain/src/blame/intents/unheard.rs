//! Clients whose requests no server hears: all of its workers wait for the requests of others, which come slowly.

use model::stall::Awaits;

use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::thresholds::SOON_NS;

/// Whether the thread that answers in the end slept on when the client asked, until somebody else sent it something, and the request woke
/// no other thread either. A worker of an idle server, or one that had taken up the request, would have been woken by it.
pub(crate) fn is_unheard(index: &RunIndex, wait: &Row, server: u32) -> bool {
    let asked_ns = wait.asked_ns.map_or(wait.start_ns, |asked_ns| asked_ns.max(wait.start_ns.saturating_sub(SOON_NS)));
    let sleeps_on = |row: &Row| {
        row.awaits == Some(Awaits::Message)
            && row.asked_ns.is_none()
            && row.start_ns < asked_ns
            && row.runnable_ns > asked_ns.saturating_add(SOON_NS)
            && index.waker(row).is_some_and(|waker| waker != wait.tid)
    };
    wait.awaits == Some(Awaits::Answer)
        && index.rows_between(server, asked_ns, asked_ns).any(|(_, row)| sleeps_on(row))
        && !index.woke_any(wait.tid, asked_ns.saturating_sub(SOON_NS)..asked_ns.saturating_add(SOON_NS))
}
