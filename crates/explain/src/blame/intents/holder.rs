//! Who held a lock while a task slept for it.

use std::collections::HashMap;

use model::stall::Awaits;

use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::graph::path::series_began_ns;
use crate::blame::intents::lock_turns::Held;
use crate::blame::verdict::explanation::{Holds, Link};
use crate::thresholds::CHAIN_TASKS;

/// Tasks that a lock without a known owner is followed through: from each to the one that released it before.
const RELEASES: usize = 64;

/// Whether a row is a wait for a lock whose holder may be known.
pub(crate) fn is_for_lock(row: &Row) -> bool {
    row.lock.get().is_some() || row.awaits == Some(Awaits::Lock)
}

/// The task that held the lock for most of a wait, and its longest turn in that time; `None` where no holder is known.
pub(crate) fn longest(index: &RunIndex, row: &Row) -> Option<Held> {
    let held = if row.awaits == Some(Awaits::Lock) { by_releases(index, row) } else { index.lock_turns.during(row) };
    let mut sums: HashMap<u32, (u64, Held)> = HashMap::new();
    for turn in held.into_iter().filter(|turn| turn.from_ns < turn.to_ns) {
        let (sum_ns, longest) = sums.entry(turn.tid).or_insert((0, turn));
        *sum_ns += turn.ns();
        if turn.ns() > longest.ns() {
            *longest = turn;
        }
    }
    let most = sums.into_values().max_by_key(|(sum_ns, held)| (*sum_ns, held.from_ns))?.1;
    Some(Held { tid: thread(index, row, most.tid), ..most })
}

/// Only the process is known of the holder of a file's lock: the thread that released it was one of its threads.
fn thread(index: &RunIndex, row: &Row, holder: u32) -> u32 {
    let of_holder = |&waker: &u32| index.tasks.pid(waker, row.runnable_ns) == Some(holder);
    index.waker(row).filter(of_holder).unwrap_or(holder)
}

/// When a wait began for which its task may have slept several times: a timer interrupts those for the locks of databases.
pub(crate) fn since_ns(index: &RunIndex, row: &Row) -> u64 {
    if row.awaits == Some(Awaits::Lock) { series_began_ns(index, row) } else { row.start_ns }
}

/// The holder of a lock that waits in turn, through other locks, for one of the task that waits for it.
pub(crate) fn deadlock(index: &RunIndex, row: &Row) -> Option<u32> {
    let first = longest(index, row)?;
    let (mut held, mut before) = (first, row);
    for _ in 0..CHAIN_TASKS {
        if held.tid == row.tid {
            return Some(first.tid);
        }
        let is_most = |other: &Row| {
            let both_ns = other.runnable_ns.min(row.runnable_ns).saturating_sub(other.start_ns.max(row.start_ns));
            is_for_lock(other)
                && other.lock.get() != before.lock.get()
                && both_ns >= (row.runnable_ns - row.start_ns) / 2
        };
        let mut waits = index.rows_between(held.tid, row.start_ns, row.runnable_ns).map(|(_, row)| row);
        before = waits.find(|other| is_most(other))?;
        held = longest(index, before)?;
    }
    None
}

/// Only its holder releases a lock of user space. Before, it was with the task that woke
/// that one out of its own wait for a lock.
fn by_releases(index: &RunIndex, row: &Row) -> Vec<Held> {
    let (mut held, since_ns) = (Vec::new(), since_ns(index, row));
    let (mut holder, mut to_ns) = (index.waker(row), row.runnable_ns);
    for _ in 0..RELEASES {
        let Some(tid) = holder.filter(|&tid| tid != row.tid) else { break };
        let waits = index.rows_between(tid, since_ns, to_ns).map(|(_, row)| row);
        let mut for_lock = waits.filter(|other| other.awaits == Some(Awaits::Lock) && other.runnable_ns < to_ns);
        let before = for_lock.next();
        let from_ns = before.map_or(since_ns, |before| before.runnable_ns.max(since_ns));
        held.push(Held { tid, from_ns, to_ns, is_hint: false });
        to_ns = from_ns;
        holder = before.and_then(|before| index.waker(before));
    }
    held
}

/// A step of a chain, with where its task was in its program if it held the lock that the step before waited for.
pub(crate) fn link(index: &RunIndex, held: Option<Held>, link: Link) -> Link {
    let Some(held) = held else { return link };
    Link {
        holds: Some(if held.is_hint { Holds::Perhaps } else { Holds::Exactly }),
        user_stack: index.user_stacks.within(held.tid, held.from_ns, held.to_ns),
        ..link
    }
}
