//! Who froze the request queue that a task waits to enter.

use crate::blame::facts::intent::Intent;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::run_index::lock_turns::Held;
use crate::blame::rule::{Example, Rule};

pub(crate) const RULE: Rule = Rule {
    id: "queue-frozen-by-drainer",
    concludes: "A task that waits to enter a frozen request queue waits for the task that waits meanwhile for the \
                queue's requests to complete.",
    from: "The stacks of both waits, and that they overlap. The request whose completion woke it is one of the \
           queue's, not its own.",
    because: "To change a queue (its I/O scheduler, its size) the kernel first freezes it: nobody enters it until \
              those inside are done, and the change is.",
    unless: "Two queues are frozen at once: the rows do not say which one a task waits for, and the longer overlap is \
             taken.",
    example: Example {
        timeline: "
            off 7 |   sssssssss   | stack=__bio_queue_enter,submit_bio waker=8 request=1
            off 9 | sssssssssss   | call=write stack=blk_mq_freeze_queue_wait,elevator_change waker=8 request=1
            call:read 7 |  ==========   |
            request 1 |  QID       C  | tid=8",
        causes: "request_wait 9, running 1",
        chain: "thread 7: request_wait 9 < thread 9: request_wait 9 < thread 8: device 9",
    },
};

pub(crate) fn find(index: &RunIndex) -> Vec<(u32, Intent)> {
    let frozen = index.rows.iter().filter(|row| index.is_for_frozen_queue(row) && during(index, row).next().is_some());
    frozen.map(|row| (row.at, Intent { not_for_request: true, ..*index.intent(row) })).collect()
}

/// The tasks that kept a queue frozen during a wait.
pub(crate) fn during(index: &RunIndex, row: &Row) -> impl Iterator<Item = Held> {
    let (from_ns, to_ns, own) = (row.start_ns, row.runnable_ns, row.tid);
    let drains = index.queue_drains.iter().take_while(move |drain| drain.from_ns < to_ns);
    let meanwhile = drains.filter(move |drain| drain.to_ns > from_ns && drain.tid != own);
    meanwhile.map(move |drain| Held {
        tid: drain.tid,
        from_ns: drain.from_ns.max(from_ns),
        to_ns: drain.to_ns.min(to_ns),
        is_hint: false,
    })
}
