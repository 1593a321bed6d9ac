//! Wakeups that say nothing of what their task waited for: a thaw, timers that interrupted a task in a system call, and what a descendant
//! does that answers nothing. The tracer took that task for the waker, and what its call does for the reason.

use model::stall::Awaits;

use crate::blame::facts::cause::Cause;
use crate::blame::facts::rows::{Maybe, Row};
use crate::blame::facts::stacks::Stacks;

/// What a timer ended, no task and no request did.
pub(crate) fn forget_interrupted(rows: &mut [Row], stacks: &Stacks) {
    forget_killers(rows, stacks);
    let by_timer =
        |row: &Row| row.waker_stack.get().and_then(|stack| stacks.get(&stack)).is_some_and(|waker| waker.timer);
    for row in rows.iter_mut().filter(|row| by_timer(row)) {
        (row.waker_tid, row.request, row.request_at) = (Some(0).into(), Maybe::NONE, Maybe::NONE);
        row.awaits = match row.awaits {
            Some(awaits @ (Awaits::Answer | Awaits::PartOfAnswer)) => Some(awaits),
            Some(Awaits::ForClient | Awaits::Lock | Awaits::Thread) if row.asked_ns.is_some() => {
                Some(Awaits::ForClient)
            }
            awaits => awaits.map(|_| Awaits::Interrupt),
        };
    }
}

/// Who ends a write to a full pipe or socket by a signal (`timeout`) is not who should have read it.
fn forget_killers(rows: &mut [Row], stacks: &Stacks) {
    let of = |stack: Option<u32>| stack.and_then(|stack| stacks.get(&stack));
    let sends =
        |row: &Row| of(row.stack.get()).and_then(|stack| stack.rule).is_some_and(|rule| rule.cause == Cause::Peer);
    let by_signal = |row: &Row| of(row.waker_stack.get()).is_some_and(|waker| waker.signals);
    rows.iter_mut().filter(|row| by_signal(row) && sends(row)).for_each(|row| row.waker_tid = Some(0).into());
}

/// A server that owes a client an answer, or has asked one itself, is woken by each new client, by datagrams, and by clients that close their
/// connection, too, and then sleeps on: none of them answers it or does its work. The end of a connection may be an answer, of a server that
/// was asked.
pub(crate) fn forget_clients(rows: &mut [Row], stacks: &Stacks) {
    let is_by_client = |row: &Row| {
        let waker = row.waker_stack.get().and_then(|stack| stacks.get(&stack));
        waker.is_some_and(|waker| match row.awaits {
            Some(Awaits::Answer) => waker.connects || waker.sends_datagram,
            Some(Awaits::ForClient) => waker.connects || waker.sends_datagram || waker.closes_socket,
            _ => false,
        })
    };
    let asked = rows.iter_mut().filter(|row| row.asked_ns.is_some());
    asked.filter(|row| is_by_client(row)).for_each(|row| row.waker_tid = Some(0).into());
}

/// All that a supervisor starts descends from it. A descendant that ends, or sends a message past the pipe or socket pair by which the supervisor
/// asked something, does not answer it: the supervisor was idle. A tracer that does not look whether the descendant has the other end takes each
/// for the answer.
pub(crate) fn forget_unasked_children(rows: &mut [Row], stacks: &Stacks) {
    let waker = |row: &Row| row.waker_stack.get().and_then(|stack| stacks.get(&stack));
    let answers_nothing = |row: &Row| waker(row).is_some_and(|waker| waker.ends || waker.sends_datagram);
    let unasked = rows.iter_mut().filter(|row| row.awaits == Some(Awaits::AnswerOfChild) && answers_nothing(row));
    unasked.for_each(|row| (row.awaits, row.asked_ns) = (Some(Awaits::Message), None));
}

/// The wakeup of a task that was frozen in its sleep is the thaw: what it had slept for is unknown.
pub(crate) fn forget_waits_of_frozen(rows: &mut [Row], stacks: &Stacks) {
    let thaws = |row: &Row| row.waker_stack.get().and_then(|stack| stacks.get(&stack)).is_some_and(|waker| waker.thaws);
    rows.iter_mut().filter(|row| row.awaits.is_some() && thaws(row)).for_each(|row| row.awaits = None);
}
