//! Threads of a runtime that take up whatever comes next (Go, tokio).

use std::collections::HashSet;

use model::stall::{Awaits, StallKind};
use model::system_call::traits;

use crate::blame::facts::intent::Intent;
use crate::blame::facts::maybe::MaybeNs;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::intents::locks::turns;
use crate::blame::rule::{Example, Rule};

pub(crate) const RULE: Rule = Rule {
    id: "poller-owns-no-request",
    concludes: "A thread that polls for all connections and parks like its siblings works on no request of its own: \
                its sleeps are idle.",
    from: "A thread that is said to work on one request waits meanwhile for messages in a poll, and in another call \
           for a thread of its process.",
    because: "In such runtimes one thread waits for messages of all connections and the others sleep until it wakes \
              them. The thread that received a \
              request is not the one that answers it.",
    unless: "A thread for each client that waits for a lock is woken by other processes, or polls nothing.",
    example: Example {
        timeline: "
            task 7 |n                | pid=6
            task 9 |n                | pid=6
            off  7 | ssss            | call=epoll_pwait state=1 awaits=for_client asked=1 waker=5
            off  7 |     ssssssss    | call=futex stack=futex_do_wait state=1 awaits=for_client asked=1 waker=9
            off  9 | sssssssssss     | stack=xfs_log_force",
        causes: "",
        chain: "",
    },
};

pub(crate) fn find(index: &RunIndex) -> Vec<(u32, Intent)> {
    let polls = index.rows.iter().filter(|row| sleeps_for_client(index, row) && index.does(row, traits::POLLS));
    let polling: HashSet<(u32, Option<u64>)> = polls.map(|row| (row.tid, index.asked_ns(row))).collect();
    if polling.is_empty() {
        return Vec::new();
    }
    let pid = |tid: u32, row: &Row| index.tasks.pid(tid, row.runnable_ns);
    let is_by_thread = |row: &Row| {
        let waker = index.whom(row).and_then(|waker| pid(waker, row));
        waker.is_some() && waker == pid(row.tid, row)
    };
    let by_threads = index
        .rows
        .iter()
        .filter(|row| sleeps_for_client(index, row) && index.does(row, traits::WAITS_FOR_THREAD) && is_by_thread(row));
    let keys = by_threads.map(|row| (row.tid, index.asked_ns(row)));
    let both: HashSet<_> = keys.filter(|key| polling.contains(key)).collect();
    let of_both =
        index.rows.iter().filter(|row| sleeps_for_client(index, row) && both.contains(&(row.tid, index.asked_ns(row))));
    let idle = |row: &Row| Intent { since_ns: MaybeNs::NONE, what: Some(Awaits::Message), ..*index.intent(row) };
    of_both.map(|row| (row.at, idle(row))).collect()
}

/// Whether a row is of a process whose threads take up what another one began: one of them owns no request, or takes
/// turns.
pub(crate) fn takes_up_any_work(index: &RunIndex, row: &Row) -> bool {
    let pids = || {
        let rows = [&RULE, &turns::RULE].into_iter().flat_map(|rule| index.intents.rows_by(rule));
        rows.map(|at| index.row(at)).map(|row| index.tasks.process_of(row.tid, row.end_ns)).collect()
    };
    let sharing = index.sharing_work.get_or_init(pids);
    !sharing.is_empty() && sharing.contains(&index.tasks.process_of(row.tid, row.end_ns))
}

fn sleeps_for_client(index: &RunIndex, row: &Row) -> bool {
    let what = index.awaits(row);
    let is_for_client = matches!(what, Some(Awaits::ForClient | Awaits::Lock | Awaits::Thread | Awaits::Interrupt));
    row.kind == StallKind::OffCpu && row.interruptible && index.asked_ns(row).is_some() && is_for_client
}
