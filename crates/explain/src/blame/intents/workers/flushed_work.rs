//! Tasks that wait until kernel workers have done a work, which they flush.

use model::stall::{Awaits, StallKind};

use crate::blame::facts::intent::Intent;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::rule::{Example, Rule};

pub(crate) const RULE: Rule = Rule {
    id: "flushed-a-work",
    concludes: "A task that flushes a work waited for the kernel worker that did it.",
    from: "The innermost function of its stack flushes works; the worker woke it right after a work, not within one.",
    because: "To flush a work is to queue a barrier behind it, in the same worker: the worker does the work, and what \
              comes before the work, first.",
    unless: "The functions on the stack say more of the wait than which worker it is for, as those that push a log do.",
    example: Example {
        timeline: "
            op:write 7 |==============|
            off      7 | ssssssssssss | stack=__flush_work,xfs_file_buffered_write,do_syscall_64 waker=9 \
            waker_stack=complete,process_one_work,worker_thread,kthread
            off      9 | sssssssssss  | stack=xfs_log_force,flush_a,process_one_work,worker_thread,kthread",
        causes: "fs_log 11, running 2, unexplained 1",
        chain: "thread 7: fs_log 11 < thread 9: fs_log 11",
    },
};

pub(crate) fn find(index: &RunIndex) -> Vec<(u32, Intent)> {
    let flushes = |row: &Row| {
        index.stack(row.stack.get()).is_some_and(|stack| stack.flushes && stack.rule.is_none())
            && index.waker_stack(row).is_some_and(|stack| stack.follows_work)
    };
    let waits = index.rows.iter().filter(|row| row.kind == StallKind::OffCpu && index.awaits(row).is_none());
    let waits = waits.filter(|row| flushes(row));
    waits.map(|row| (row.at, Intent { what: Some(Awaits::Thread), ..*index.intent(row) })).collect()
}
