//! Wakeups by timers that interrupted a task in a system call: the tracer took that task for the waker, and what its call does for
//! the reason.

use model::stall::Awaits;

use super::rows::Row;
use super::stacks::Stacks;

/// What a timer ended, no task and no request did.
pub(super) fn forget_interrupted(rows: &mut [Row], stacks: &Stacks) {
    let by_timer = |row: &Row| row.waker_stack.and_then(|stack| stacks.get(&stack)).is_some_and(|waker| waker.timer);
    for row in rows.iter_mut().filter(|row| by_timer(row)) {
        (row.waker_tid, row.request) = (Some(0), None);
        row.awaits = match row.awaits {
            Some(awaits @ (Awaits::Answer | Awaits::PartOfAnswer)) => Some(awaits),
            Some(Awaits::ForClient | Awaits::Lock | Awaits::Thread) if row.asked_ns.is_some() => {
                Some(Awaits::ForClient)
            }
            awaits => awaits.map(|_| Awaits::Interrupt),
        };
    }
}
