//! Sleeps that tasks want.

use model::stall::Awaits;
use model::system_call::traits;

use crate::blame::facts::cause::{Cause, Evidence};
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::rule::{Example, Rule};

pub(crate) const RULE: Rule = Rule {
    id: "sleeps-by-choice",
    concludes: "While another task waited for it, a task slept because it wanted to.",
    from: "Its call sleeps for a time; or a timer ended a sleep that was for nobody, in a futex (Java) or while a pipe \
           that it reads was full.",
    because: "What such a task waits for is the time itself.",
    unless: "A poll with a deadline, which may wait for something else: it stays unexplained.",
    example: Example {
        timeline: "
            off 7 |  ssssssssssss  | call=poll awaits=answer waker=9 watched
            off 9 |   ssssssssss   | call=clock_nanosleep awaits=interrupt waker=3",
        causes: "sleep 10, unexplained 2",
        chain: "thread 7: sleep 10 < thread 9: sleep 10",
    },
};

/// Whether a task slept there on a timer of its own, while another one waited for it.
pub(crate) fn sleeps_by_choice(
    index: &RunIndex,
    wait: &Row,
    sleep: &Row,
    (cause, evidence): (Cause, Evidence),
) -> bool {
    index.applies(&RULE)
        && match cause {
            // What a reader might wait for in a `select` is there while a pipe is full.
            Cause::Unexplained => {
                is_by_choice(index, sleep) || (index.awaits(wait) == Some(Awaits::Room) && is_timed(index, sleep))
            }
            Cause::Lock => evidence == Evidence::Stack && is_by_choice(index, sleep),
            _ => false,
        }
}

/// Whether a timer ended a sleep.
pub(crate) fn is_timer(index: &RunIndex, sleep: &Row) -> bool {
    sleep.interruptible && index.waker_stack(sleep).is_some_and(|waker| waker.timer)
}

/// Whether a timer ended a sleep that was for nobody who is known.
fn is_timed(index: &RunIndex, row: &Row) -> bool {
    let for_nobody =
        index.asked_ns(row).is_none() && index.awaits(row).is_none_or(|awaits| awaits == Awaits::Interrupt);
    for_nobody && is_timer(index, row)
}

/// Whether a row is a sleep that its task asked for. Threads of Java sleep in a futex.
pub(crate) fn is_by_choice(index: &RunIndex, row: &Row) -> bool {
    let on_thread = || index.stack(row.stack.get()).is_some_and(|stack| stack.on_thread);
    index.does(row, traits::SLEEPS) || (on_thread() && is_timed(index, row))
}
