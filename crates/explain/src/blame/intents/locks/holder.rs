//! Who held a lock while a task slept for it.

use model::stall::Awaits;

use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::run_index::lock_turns::{self, Held};
use crate::blame::intents::locks::newer_wakers;
use crate::blame::intents::locks::queue_freezes;
use crate::blame::intents::locks::since::series_began_ns;
use crate::blame::intents::requests::listeners::is_refused_connection;
use crate::blame::intents::requests::pollers::takes_up_any_work;
use crate::blame::rule::{Example, Rule};
use crate::hashing::FastMap;
use crate::thresholds::CHAIN_TASKS;

pub(crate) const RELEASES_RULE: Rule = Rule {
    id: "lock-by-releases",
    concludes: "A lock of user space was held by the task that ended the wait for it; before, by the task that ended \
                the holder's own wait, and so on.",
    from: "The chain of wakeups among the tasks that wait for one lock.",
    because: "Only its holder releases a lock of user space, and the kernel does not know holders of futexes.",
    unless: "A lock is released by another task than the one that took it (semaphores as signals).",
    example: Example {
        timeline: "
            off 7 | sssss          | call=epoll_wait awaits=for_client asked=1 state=1
            off 7 |      sssssss   | call=epoll_wait awaits=lock asked=1 waker=9 state=1
            off 9 |sssssssssss     | call=clock_nanosleep awaits=interrupt",
        causes: "lock 12",
        chain: "thread 7: lock 12 < thread 9: sleep 10",
    },
};

pub(crate) const CIRCLE: Rule = Rule {
    id: "locks-in-a-circle",
    concludes: "Tasks that each wait for a lock that the next one holds are in a deadlock.",
    from: "The holder of a lock waits, for at least half of that time, for a lock whose holder, in turn, is the first \
           task.",
    because: "None of them will release what the others wait for.",
    unless: "One of them waits for a turn with the same lock.",
    example: Example {
        timeline: "
            blocked 7 | ssssssssssss   | call=flock stack=flock_lock_inode_wait state=1 lock=1 holder=9
            blocked 9 |  ssssssssssss  | call=flock stack=flock_lock_inode_wait state=1 lock=2 holder=7",
        causes: "lock 24",
        chain: "thread 7: lock 12 < thread 9: lock 11",
    },
};

/// Tasks that a lock without a known owner is followed through: from each to the one that released it before.
const RELEASES: usize = 64;
/// Waits of one of them that are examined, the latest first.
const WAITS: usize = 4096;

/// Whether a row is a wait for a lock of user space, whose holders are known by its releases.
pub(crate) fn is_of_user_space(index: &RunIndex, row: &Row) -> bool {
    index.awaits(row) == Some(Awaits::Lock)
}

/// Whether a row is a wait for a lock whose holder may be known.
pub(crate) fn is_for_lock(index: &RunIndex, row: &Row) -> bool {
    (row.lock.get().is_some() && !is_refused_connection(row)) || index.awaits(row) == Some(Awaits::Lock)
}

/// The tasks that held the lock during a wait, the latest first or in order of time; empty where none is known.
pub(crate) fn all(index: &RunIndex, row: &Row) -> Vec<Held> {
    let is_of_user_space = is_of_user_space(index, row);
    let rule = if is_of_user_space { &RELEASES_RULE } else { &lock_turns::RULE };
    if index.applies(&queue_freezes::RULE) && index.is_for_frozen_queue(row) {
        return queue_freezes::during(index, row).collect();
    }
    let held = match is_of_user_space {
        _ if !is_for_lock(index, row) || !index.applies(rule) => Vec::new(),
        true => by_releases(index, row),
        false => index.lock_turns.during(row, &index.releases),
    };
    let whole = held.into_iter().filter(|turn| turn.from_ns < turn.to_ns);
    whole.map(|turn| Held { tid: thread(index, row, turn.tid), ..turn }).collect()
}

/// The task that held the lock for most of a wait, and its longest turn in that time; `None` where no holder is known.
pub(crate) fn longest(index: &RunIndex, row: &Row) -> Option<Held> {
    longest_within(index, row, (0, u64::MAX))
}

/// The same of a part of the wait.
pub(crate) fn longest_within(index: &RunIndex, row: &Row, (from_ns, to_ns): (u64, u64)) -> Option<Held> {
    let mut sums: FastMap<u32, (u64, Held)> = FastMap::default();
    let within = |held: Held| Held { from_ns: held.from_ns.max(from_ns), to_ns: held.to_ns.min(to_ns), ..held };
    for turn in all(index, row).into_iter().map(within).filter(|turn| turn.from_ns < turn.to_ns) {
        let (sum_ns, longest) = sums.entry(turn.tid).or_insert((0, turn));
        *sum_ns += turn.ns();
        if turn.ns() > longest.ns() {
            *longest = turn;
        }
    }
    sums.into_values().max_by_key(|(sum_ns, held)| (*sum_ns, held.from_ns)).map(|(_, held)| held)
}

/// Only the process is known of the holder of a file's lock: the thread that released it was one of its threads.
fn thread(index: &RunIndex, row: &Row, holder: u32) -> u32 {
    let of_holder = |&waker: &u32| index.tasks.pid(waker, row.runnable_ns) == Some(holder);
    index.waker(row).filter(of_holder).unwrap_or(holder)
}

/// When a wait began for which its task may have slept several times: a timer interrupts those for the locks of
/// databases, and between attempts a task sleeps as it likes.
pub(crate) fn since_ns(index: &RunIndex, row: &Row) -> u64 {
    let of_attempts = || index.lock_turns.tried_since_ns(row).unwrap_or(row.start_ns);
    if index.awaits(row) == Some(Awaits::Lock) { series_began_ns(index, row) } else { of_attempts() }
}

/// The holder of a lock that waits in turn, through other locks, for one of the task that waits for it.
pub(crate) fn deadlock(index: &RunIndex, row: &Row) -> Option<u32> {
    let waits = circle(index, row)?;
    Some(waits.get(1).unwrap_or(&row).tid)
}

/// The lock waits of a deadlock, beginning with `row`: the next wait is that of the lock's holder, and the last lock is
/// held by the first task.
pub(crate) fn circle<'a>(index: &'a RunIndex, row: &'a Row) -> Option<Vec<&'a Row>> {
    let mut held = longest(index, row).filter(|_| index.applies(&CIRCLE))?;
    let mut waits = vec![row];
    for _ in 0..CHAIN_TASKS {
        if held.tid == row.tid {
            return Some(waits);
        }
        let before = *waits.last()?;
        let is_most = |other: &Row| {
            let both_ns = other.runnable_ns.min(row.runnable_ns).saturating_sub(other.start_ns.max(row.start_ns));
            is_for_lock(index, other)
                && other.lock.get() != before.lock.get()
                && both_ns >= (row.runnable_ns - row.start_ns) / 2
        };
        let mut of_holder = index.rows_between(held.tid, row.start_ns, row.runnable_ns).map(|(_, row)| row);
        let next = of_holder.find(|other| is_most(other))?;
        held = longest(index, next)?;
        waits.push(next);
    }
    None
}

/// Only its holder releases a lock of user space. Before, it was with the task that woke
/// that one out of its own wait for a lock.
fn by_releases(index: &RunIndex, row: &Row) -> Vec<Held> {
    let (mut held, since_ns) = (Vec::new(), since_ns(index, row));
    let waker = index.waker(row).filter(|waker| !newer_wakers::cannot_have_held(index, row, *waker));
    let (mut holder, mut to_ns) = (waker, row.runnable_ns);
    for _ in 0..RELEASES {
        let Some(tid) = holder.filter(|&tid| tid != row.tid) else { break };
        let waits = index.rows_between(tid, since_ns, to_ns).map(|(_, row)| row);
        let is_before = |other: &&Row| is_of_user_space(index, other) && other.runnable_ns < to_ns;
        let before = waits.take(WAITS).filter(is_before).find(|other| may_be_for_lock(index, other, since_ns));
        let from_ns = before.map_or(since_ns, |before| before.runnable_ns.max(since_ns));
        held.push(Held { tid, from_ns, to_ns, is_hint: false });
        to_ns = from_ns;
        holder = before.and_then(|before| index.waker(before));
    }
    held
}

/// Whether a task may have waited for the lock that another one waits for since a moment, and was woken later. They are
/// woken in the order in which they began: a task that began later, and had it earlier, waited for another lock, with
/// this one.
fn may_be_for_lock(index: &RunIndex, other: &Row, since_ns: u64) -> bool {
    takes_up_any_work(index, other) || series_began_ns(index, other) <= since_ns
}
