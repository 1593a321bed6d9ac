//! Descendants of a supervisor that answer nothing.

use model::stall::Awaits;

use crate::blame::facts::intent::Intent;
use crate::blame::facts::maybe::MaybeNs;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::rule::{Example, Rule};

pub(crate) const RULE: Rule = Rule {
    id: "child-did-not-answer",
    concludes: "A supervisor was idle until a descendant ended, or sent a datagram.",
    from: "The tracer took a descendant's wakeup for the answer to what the supervisor had asked by a pipe or a pair \
           of sockets; the waker's stack ends \
           its task, or sends to a socket without a connection.",
    because: "All that a supervisor starts descends from it. An answer comes by the pipe or pair by which it asked; an \
              end or a datagram does not.",
    unless: "The end of the descendant is what was asked for: then the supervisor waits in wait4 or pidfd, which is a \
             wait for a child.",
    example: Example {
        timeline: "
            off 7 | ssssssssssss   | call=epoll_wait state=1 awaits=answer_of_child waker=9 asked=1 \
            waker_stack=ep_poll_callback,unix_dgram_sendmsg,sock_write_iter
            off 9 | sssssssssss    | stack=xfs_log_force",
        causes: "",
        chain: "",
    },
};

pub(crate) fn find(index: &RunIndex) -> Vec<(u32, Intent)> {
    let answers_nothing = |row: &Row| index.waker_stack(row).is_some_and(|waker| waker.ends || waker.sends_datagram);
    let unasked =
        index.rows.iter().filter(|row| index.awaits(row) == Some(Awaits::AnswerOfChild) && answers_nothing(row));
    let idle = |row: &Row| Intent { what: Some(Awaits::Message), since_ns: MaybeNs::NONE, ..*index.intent(row) };
    unasked.map(|row| (row.at, idle(row))).collect()
}
