//! Threads of a program that wait until a thread has done what they gave it to do: pools, locks. A thread that waits for work sleeps
//! in the same call; which of the two is older, and who woke whom before, tells them apart.

use model::stall::{Awaits, StallKind};

use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::hashing::{FastMap, FastSet};

/// How event loops of Go and libuv wait. Any thread of Go takes up what another one began.
const EVENT_LOOP: &str = "epoll_pwait";
/// Rows of one thread that are looked at.
const ROWS: usize = 64;

/// The waits of the oldest thread of a program for a younger thread that works for it: the younger one last waited until the oldest woke it. A
/// thread that never waited counts in a recorded program alone, whose threads all began within the recording: elsewhere the oldest may wait for its end.
pub(crate) fn handed_out(index: &RunIndex) -> Vec<u32> {
    let oldest = oldest(index);
    let is_one = |row: &Row| {
        let pid = index.tasks.pid(row.tid, row.end_ns);
        row.kind == StallKind::OffCpu
            && row.awaits == Some(Awaits::Work)
            && pid.is_some_and(|pid| oldest.get(&pid) == Some(&row.tid))
            && index
                .waker(row)
                .is_some_and(|waker| index.tasks.pid(waker, row.end_ns) == pid && works_for(index, waker, row))
    };
    index.rows.iter().zip(0..).filter(|(row, _)| is_one(row)).map(|(_, at)| at).collect()
}

/// The oldest thread of each process that sleeps at times, and has no such event loop. The first thread of a Java machine only waits
/// for the end of the second one.
fn oldest(index: &RunIndex) -> FastMap<u32, u32> {
    let event_loop = index.names.find(EVENT_LOOP);
    let (mut oldest, mut others) = (FastMap::default(), FastSet::default());
    let sleeps = |row: &Row| {
        let ends_with_another = row.awaits == Some(Awaits::Child);
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
    let is_for_thread = |row: &Row| matches!(row.awaits, Some(Awaits::Work | Awaits::Thread | Awaits::Lock));
    let mut before = index.rows_between(waker, 0, wait.runnable_ns).take(ROWS).map(|(_, row)| row);
    let idled = before.find(|row| row.kind == StallKind::OffCpu && is_for_thread(row));
    waker > wait.tid && idled.map_or(wait.watched, |idled| index.waker(idled) == Some(wait.tid))
}
