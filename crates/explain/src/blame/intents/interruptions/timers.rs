//! Timers that interrupt a task and wake another one.

use model::stall::Awaits;

use crate::blame::facts::intent::Intent;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::rule::{Example, Rule};

pub(crate) const RULE: Rule = Rule {
    id: "timer-acts-for-nobody",
    concludes: "No task and no request ended a sleep that a timer ended. A wait for an answer goes on.",
    from: "The stack of the task that woke it is in a timer's function.",
    because: "A timer's interrupt runs on top of whatever task has the CPU. The tracer takes that task for the waker, \
              its system call for the reason, and a request that completed right before for the one waited for.",
    unless: "The interrupted task did the same thing at that moment; the row of its next sleep shows that.",
    example: Example {
        timeline: "
            off 7 | ssss           | call=poll awaits=answer waker=5 asked=1 waker_stack=try_to_wake_up,hrtimer_wakeup
            off 7 |     ssssss     | call=poll awaits=answer waker=9 asked=1
            off 9 | sssssssss      | stack=xfs_log_force",
        causes: "fs_log 9, unexplained 1",
        chain: "thread 7: fs_log 9 < thread 9: fs_log 9",
    },
};

pub(crate) fn find(index: &RunIndex) -> Vec<(u32, Intent)> {
    let by_timer = |row: &&Row| index.waker_stack(row).is_some_and(|waker| waker.timer);
    index.rows.iter().filter(by_timer).map(|row| (row.at, without_waker(index.intent(row)))).collect()
}

fn without_waker(intent: &Intent) -> Intent {
    let what = match intent.what {
        Some(what @ (Awaits::Answer | Awaits::PartOfAnswer)) => Some(what),
        Some(Awaits::ForClient | Awaits::Lock | Awaits::Thread) if intent.since_ns.get().is_some() => {
            Some(Awaits::ForClient)
        }
        what => what.map(|_| Awaits::Interrupt),
    };
    Intent { what, whom: Some(0).into(), not_for_request: true, ..*intent }
}
