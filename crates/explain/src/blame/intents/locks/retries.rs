//! Sleeps between attempts at a lock that was refused.

use model::stall::StallKind;

use crate::blame::facts::intent::Intent;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::intents::locks::holder::is_for_lock;
use crate::blame::rule::{Example, Rule};

pub(crate) const RULE: Rule = Rule {
    id: "sleep-before-next-attempt",
    concludes: "A task that sleeps between attempts at a lock waits for the lock, not for the task that ends that \
                sleep.",
    from: "The kernel refuses the lock, or a name that exists; the sleep begins at once: by a timer, or in a wait for \
           a child that sleeps, as in scripts.",
    because: "The task would go on at once if it got what it tried to get. The timer or the child only says when it \
              tries again.",
    unless: "It does other work after one refusal: only attempts that repeat are an operation.",
    example: Example {
        timeline: "
            off  7 | sssss           | call=wait4 stack=do_wait state=1 tp=name_taken lock=1 holder=9 waker=8 \
            awaits=child
            off  8 | sssss           | call=clock_nanosleep stack=hrtimer_nanosleep state=1
            off  7 |       sssss     | call=wait4 stack=do_wait state=1 tp=name_taken lock=1 holder=9 waker=10 \
            awaits=child
            off  9 |sssssssssss      | stack=xfs_log_force
            freed 9 |           =     | lock=1",
        causes: "lock 10, unexplained 1",
        chain: "thread 7: lock 10 < thread 9: fs_log 10",
    },
};

pub(crate) fn find(index: &RunIndex) -> Vec<(u32, Intent)> {
    let is_attempt = |row: &&Row| {
        row.kind == StallKind::OffCpu
            && row.is_between_attempts(&index.names)
            && is_for_lock(index, row)
            && index.announced(row).is_some()
    };
    let ended_by_nobody =
        |row: &Row| Intent { what: None, whom: Some(0).into(), not_for_request: true, ..*index.intent(row) };
    index.rows.iter().filter(is_attempt).map(|row| (row.at, ended_by_nobody(row))).collect()
}
