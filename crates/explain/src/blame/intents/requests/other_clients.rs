//! Clients that wake a server which waits for something else.

use model::stall::Awaits;

use crate::blame::facts::intent::Intent;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::rule::{Example, Rule};

pub(crate) const RULE: Rule = Rule {
    id: "client-did-not-answer",
    concludes: "A client that connects, sends a datagram or closes its connection did not answer a server, nor do its \
                work.",
    from: "The server had asked something, or owed an answer; the stack of its waker connects, sends a datagram, or \
           closes a socket.",
    because: "An event loop is woken by each of its clients and sleeps on. Only what comes by the connection by which \
              it asked is the answer.",
    unless: "The end of a connection is the answer of a server that was asked: it counts where the sleeper asked.",
    example: Example {
        timeline: "
            off 7 | ssssss         | call=epoll_wait state=1 awaits=answer waker=9 asked=1 \
            waker_stack=sock_def_readable,unix_stream_connect,__sys_connect
            off 7 |       ssssss   | call=epoll_wait state=1 awaits=answer waker=5 asked=1 \
            waker_stack=unix_stream_sendmsg
            off 9 | sssss          | stack=xfs_log_force
            off 5 |      ssssss    | stack=xfs_log_force",
        causes: "fs_log 6, unexplained 6",
        chain: "thread 7: fs_log 6 < thread 5: fs_log 6",
    },
};

pub(crate) fn find(index: &RunIndex) -> Vec<(u32, Intent)> {
    let is_by_client = |row: &Row| {
        index.waker_stack(row).is_some_and(|waker| match index.awaits(row) {
            Some(Awaits::Answer) => waker.connects || waker.sends_datagram,
            Some(Awaits::ForClient) => waker.connects || waker.sends_datagram || waker.closes_socket,
            _ => false,
        })
    };
    let asked = index.rows.iter().filter(|row| index.asked_ns(row).is_some() && is_by_client(row));
    asked.map(|row| (row.at, Intent { whom: Some(0).into(), ..*index.intent(row) })).collect()
}
