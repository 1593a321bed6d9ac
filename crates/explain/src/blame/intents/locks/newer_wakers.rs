//! Locks that a task gives back for another one.

use model::stall::Awaits;

use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::rule::{Example, Rule};

pub(crate) const RULE: Rule = Rule {
    id: "began-after-the-wait",
    concludes: "A lock of user space was not held by the task that ended the wait for it, if that task began after the \
                wait. Nobody is named.",
    from: "Whether the task that ended the wait began after it.",
    because: "The task that ended the wait gave the lock back for somebody else: the session of a prepared \
              transaction is gone, and another one commits it.",
    unless: "It got the lock from its holder while the other one waited, and gave it back: then its predecessor held \
             it.",
    example: Example {
        timeline: "
            off 7 | sssssssssssss  | call=semtimedop stack=do_semtimedop state=1 awaits=lock waker=9 newer
            off 9 |        sssss   | call=fdatasync stack=xfs_log_force",
        causes: "lock 13",
        chain: "thread 7: lock 13",
    },
};

/// Whether a task is known not to have held the lock of user space that a row is for.
pub(crate) fn cannot_have_held(index: &RunIndex, row: &Row, tid: u32) -> bool {
    index.awaits(row) == Some(Awaits::Lock) && index.began_after(tid, row.start_ns) && index.applies(&RULE)
}
