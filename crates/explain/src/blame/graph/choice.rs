//! Sleeps that tasks want.

use model::stall::Awaits;
use model::system_call::traits;

use crate::blame::facts::cause::{Cause, Evidence};
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::rule::{Example, Rule};
use crate::blame::timeline::{NO_ROW, Segment};

pub(crate) const RULE: Rule = Rule {
    id: "sleeps-by-choice",
    concludes: "While another task waited for it, a task slept because it wanted to.",
    from: "Its call sleeps for a time; or a timer ended a sleep that was for nobody, in a futex (Java) or while a pipe that it reads was full.",
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
pub(crate) fn sleeps_by_choice(index: &RunIndex, wait: &Row, segment: &Segment) -> bool {
    if segment.off == NO_ROW || !index.applies(&RULE) {
        return false;
    }
    let row = index.row(segment.off);
    match segment.cause {
        // What a reader might wait for in a `select` is there while a pipe is full.
        Cause::Unexplained => {
            is_by_choice(index, row) || (index.awaits(wait) == Some(Awaits::Room) && is_timed(index, row))
        }
        Cause::Lock => segment.evidence == Evidence::Stack && is_by_choice(index, row),
        _ => false,
    }
}

/// Whether a timer ended the sleep there.
pub(crate) fn is_timer(index: &RunIndex, segment: &Segment) -> bool {
    let is_timer = |row: &Row| row.interruptible && index.waker_stack(row).is_some_and(|waker| waker.timer);
    segment.off != NO_ROW && segment.cause == Cause::Unexplained && is_timer(index.row(segment.off))
}

/// Whether a timer ended a sleep that was for nobody who is known.
fn is_timed(index: &RunIndex, row: &Row) -> bool {
    let for_nobody =
        index.asked_ns(row).is_none() && index.awaits(row).is_none_or(|awaits| awaits == Awaits::Interrupt);
    row.interruptible && for_nobody && index.waker_stack(row).is_some_and(|waker| waker.timer)
}

/// Whether a row is a sleep that its task asked for. Threads of Java sleep in a futex.
pub(crate) fn is_by_choice(index: &RunIndex, row: &Row) -> bool {
    let on_thread = || index.stack(row.stack.get()).is_some_and(|stack| stack.on_thread);
    index.does(row, traits::SLEEPS) || (on_thread() && is_timed(index, row))
}
