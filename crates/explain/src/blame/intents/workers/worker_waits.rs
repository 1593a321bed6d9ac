//! Threads of a program that wait until a thread has done what they gave it to do: pools, locks. A thread that waits
//! for work sleeps in the same call; which of the two is older, and who woke whom before, tells them apart.

use model::stall::{Awaits, StallKind};

use crate::blame::facts::intent::Intent;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::rule::{Example, Rule};
use crate::hashing::{FastMap, FastSet};

/// How event loops of Go and libuv wait. Any thread of Go takes up what another one began.
const EVENT_LOOP: &str = "epoll_pwait";
/// Rows of one thread that are looked at.
const ROWS: usize = 64;

pub(crate) const RULE: Rule = Rule {
    id: "waits-for-its-worker",
    concludes: "The oldest thread of a program waited for the younger thread that did what it had given it.",
    from: "The oldest thread waits for a thread; the younger one that woke it had last waited until the oldest woke \
           it. A younger thread that never waited \
           counts in a recorded program alone.",
    because: "A thread that waits for work sleeps in the same call. The oldest thread of a program starts the others \
              and gives them work.",
    unless: "Any thread takes up what another one began (event loops of Go and libuv): such programs are left out. \
             Where a program is not recorded from its \
             start, the oldest thread may wait for the end of the other.",
    example: Example {
        timeline: "
            task 7 |n               | pid=7
            task 9 |n               | pid=7
            off 7 |  ssssssssssss  | call=futex stack=futex_do_wait state=1 awaits=work waker=9 watched
            off 9 |ss              | call=futex stack=futex_do_wait state=1 awaits=work waker=7 watched
            off 9 |   sssssssss    | stack=xfs_log_force watched",
        causes: "fs_log 9, unexplained 2, running 1",
        chain: "/7: fs_log 9 < /9: fs_log 9",
    },
};

pub(crate) fn find(index: &RunIndex) -> Vec<(u32, Intent)> {
    let oldest = oldest(index);
    let is_one = |row: &Row| {
        let pid = index.tasks.pid(row.tid, row.end_ns);
        row.kind == StallKind::OffCpu
            && index.awaits(row) == Some(Awaits::Work)
            && pid.is_some_and(|pid| oldest.get(&pid) == Some(&row.tid))
            && index
                .waker(row)
                .is_some_and(|waker| index.tasks.pid(waker, row.end_ns) == pid && works_for(index, waker, row))
    };
    let waits = index.rows.iter().filter(|row| is_one(row));
    waits.map(|row| (row.at, Intent { what: Some(Awaits::Thread), ..*index.intent(row) })).collect()
}

/// The oldest thread of each process that sleeps at times, and has no such event loop. The first thread of a Java
/// machine only waits for the end of the second one.
fn oldest(index: &RunIndex) -> FastMap<u32, u32> {
    let event_loop = index.names.find(EVENT_LOOP);
    let (mut oldest, mut others) = (FastMap::default(), FastSet::default());
    let sleeps = |row: &Row| {
        let ends_with_another = index.awaits(row) == Some(Awaits::Child);
        row.kind == StallKind::OffCpu && row.interruptible && !ends_with_another
    };
    for row in index.rows.iter().filter(|row| sleeps(row)) {
        let Some(pid) = index.tasks.pid(row.tid, row.end_ns) else { continue };
        others.extend((event_loop.is_some() && row.call == event_loop).then_some(pid));
        let tid: &mut u32 = oldest.entry(pid).or_insert(row.tid);
        *tid = row.tid.min(*tid);
    }
    oldest.retain(|pid, _| !others.contains(pid));
    oldest
}

fn works_for(index: &RunIndex, waker: u32, wait: &Row) -> bool {
    let is_for_thread = |row: &Row| matches!(index.awaits(row), Some(Awaits::Work | Awaits::Thread | Awaits::Lock));
    let mut before = index.rows_between(waker, 0, wait.runnable_ns).take(ROWS).map(|(_, row)| row);
    let idled = before.find(|row| row.kind == StallKind::OffCpu && is_for_thread(row));
    waker > wait.tid && idled.map_or(wait.watched, |idled| index.waker(idled) == Some(wait.tid))
}
