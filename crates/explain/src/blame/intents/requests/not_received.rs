//! Clients whose requests no server hears: all of its workers wait for the requests of others, which come slowly.

use model::stall::Awaits;

use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::rule::{Example, Rule};
use crate::thresholds::SOON_NS;

pub(crate) const RULE: Rule = Rule {
    id: "request-not-received",
    concludes: "A client waited for a slow client of the same server: the server's thread was waiting for its message, \
                and nobody received the request.",
    from: "The thread that answers in the end slept on when the client asked, until somebody else sent it something, \
           and the request woke no other thread.",
    because: "A worker of an idle server, or one that had taken up the request, would have been woken by it.",
    unless: "A server polls without sleeping.",
    example: Example {
        timeline: "
            off 5 |ssssssssssss    | call=clock_nanosleep awaits=interrupt
            off 7 |  ssssssssssss  | call=poll awaits=answer waker=9 watched
            off 9 |sssssssssssss   | call=recvfrom awaits=message waker=5",
        causes: "sleep 10, unexplained 2",
        chain: "thread 7: sleep 10 < thread 5: sleep 10",
    },
};

/// Whether the thread that answers in the end did not receive the request.
pub(crate) fn is_not_received(index: &RunIndex, wait: &Row, server: u32) -> bool {
    let asked_ns =
        index.asked_ns(wait).map_or(wait.start_ns, |asked_ns| asked_ns.max(wait.start_ns.saturating_sub(SOON_NS)));
    let sleeps_on = |row: &Row| {
        index.awaits(row) == Some(Awaits::Message)
            && index.asked_ns(row).is_none()
            && row.start_ns < asked_ns
            && row.runnable_ns > asked_ns.saturating_add(SOON_NS)
            && index.waker(row).is_some_and(|waker| waker != wait.tid)
    };
    index.applies(&RULE)
        && index.awaits(wait) == Some(Awaits::Answer)
        && index.rows_between(server, asked_ns, asked_ns).any(|(_, row)| sleeps_on(row))
        && !index.woke_any(wait.tid, asked_ns.saturating_sub(SOON_NS)..asked_ns.saturating_add(SOON_NS))
}
