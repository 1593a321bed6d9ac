//! Signals that end a write to a full pipe or socket, or a wait for a file server.

use crate::blame::facts::cause::{Cause, traits};
use crate::blame::facts::intent::Intent;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::rule::{Example, Rule};

pub(crate) const RULE: Rule = Rule {
    id: "signal-reads-nothing",
    concludes: "The task that ends a write to a full pipe or socket, or a wait for a file server, by a signal is \
                neither the reader nor the server.",
    from: "The sleeper's stack waits for room or for a file server; its waker's stack sends a signal.",
    because: "A reader makes room, and a server answers. A signal (from `timeout`, or a shell) ends the wait without \
              them.",
    unless: "The reader sends a signal as well: the row says only what woke the writer last.",
    example: Example {
        timeline: "
            off 7 | ssssssss | call=write stack=anon_pipe_write,vfs_write state=1 watched waker=9 \
            waker_stack=signal_wake_up_state,kill_something_info
            off 9 | sssssss  | stack=xfs_log_force",
        causes: "peer 8",
        chain: "thread 7: peer 8",
    },
};

pub(crate) fn find(index: &RunIndex) -> Vec<(u32, Intent)> {
    let needs_other = |cause: Cause| cause == Cause::Peer || cause.has(traits::SERVER);
    let needs = |row: &Row| {
        let rule = index.stack(row.stack.get()).and_then(|stack| stack.rule);
        rule.is_some_and(|rule| needs_other(rule.cause))
    };
    let by_signal = |row: &Row| index.waker_stack(row).is_some_and(|waker| waker.signals);
    let killed = index.rows.iter().filter(|row| by_signal(row) && needs(row));
    killed.map(|row| (row.at, Intent { whom: Some(0).into(), ..*index.intent(row) })).collect()
}
