//! The owners of each lock, one after the other.

use model::stall::StallKind;
use model::system_call::traits;

use crate::blame::facts::names::Names;
use crate::blame::facts::releases::Releases;
use crate::blame::facts::rows::Row;
use crate::blame::facts::rows::joined::{joined, until_next_attempt_ns};
use crate::blame::rule::{Example, Rule};
use crate::hashing::FastMap;
use crate::thresholds::SOON_NS;

pub(crate) const RULE: Rule = Rule {
    id: "lock-by-owners",
    concludes: "A lock of the kernel was held by the task that the waiting one found in the way, then by each that got \
                it.",
    from: "The owner field of the lock when a task went to sleep for it, and the ends of all waits for that lock.",
    because: "A task whose wait for a lock ends has it, until another one is found to have it. Of a file's lock, the \
              owner may be one that waits as well: \
              then it is the one that it waits for.",
    unless: "Readers of a lock: one of them is noted, which may have released it (`perhaps`).",
    example: Example {
        timeline: "
            op:write 7 |==============|
            off      7 | ssssssssssss | tp=contention_begin lock=1 holder=9 waker=8
            off      9 |  ss          | stack=xfs_log_force
            off      8 |sssss         | tp=contention_begin lock=1 holder=9 waker=9
            off      8 |     sssssss  | stack=jbd2_log_wait_commit",
        causes: "lock 12, running 2",
        chain: "thread 7: lock 12 < thread 8: journal 7",
    },
};

/// Owners of a lock that are counted during one wait at most.
const TURNS: usize = 4096;

/// A task that held a lock during a wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) tid: u32,
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
    /// One of the readers of a lock, which may have released it before.
    pub(crate) is_hint: bool,
}

impl Held {
    pub(crate) fn ns(&self) -> u64 {
        self.to_ns - self.from_ns
    }
}

/// From then on, that task held the lock.
#[derive(Debug, Clone, Copy)]
struct Turn {
    at_ns: u64,
    tid: u32,
    is_hint: bool,
}

/// Tasks that wait behind each other for one lock.
const QUEUE: usize = 256;

/// A wait for a lock, and what was found in the way.
#[derive(Debug, Clone, Copy)]
struct Wait {
    start_ns: u64,
    end_ns: u64,
    found: Option<u32>,
    is_hint: bool,
}

/// The waits of each task for each lock, by start.
#[derive(Debug, Default)]
struct Waits(FastMap<(u32, u32), Vec<Wait>>);

impl Waits {
    fn new(rows: &[Row], names: &Names, releases: &Releases) -> Waits {
        // It is in the way of others from then on, before it sleeps: the CPU may be busy.
        let queued_ns = |row: &Row| {
            let in_call =
                row.call_start_ns > 0 && row.call.is_some_and(|call| names.traits(call).has(traits::LOCKS_FILE));
            if in_call { row.call_start_ns } else { row.start_ns }
        };
        let mut waits: FastMap<(u32, u32), Vec<Wait>> = FastMap::default();
        for row in rows.iter().filter(|row| is_wait(row)) {
            let Some(lock) = row.lock.get() else { continue };
            // A waiter that was woken has it, or is the next to have it.
            let (start_ns, end_ns, found) = (queued_ns(row), row.runnable_ns, found(row, releases));
            waits.entry((lock, row.tid)).or_default().push(Wait {
                start_ns,
                end_ns,
                found,
                is_hint: row.holder_is_hint,
            });
        }
        Waits(waits)
    }

    /// The holder that a task found when it went to sleep. For a file's lock, that may be the last of those who wait,
    /// too: then it is the one that this one waits for.
    fn holder(&self, row: &Row, releases: &Releases) -> Option<(u32, bool)> {
        let (lock, at_ns) = (row.lock.get()?, row.start_ns);
        let mut holder = (found(row, releases)?, row.holder_is_hint);
        for _ in 0..QUEUE {
            let waits = self.0.get(&(lock, holder.0)).map_or(&[][..], Vec::as_slice);
            let after = waits.partition_point(|wait| wait.start_ns <= at_ns);
            let waiting = waits[..after].last().filter(|wait| at_ns < wait.end_ns);
            let Some(found) = waiting.and_then(|wait| Some((wait.found?, wait.is_hint))) else { break };
            holder = found;
        }
        Some(holder).filter(|(tid, _)| *tid != row.tid)
    }
}

/// When the first attempt before each sleep between attempts failed.
fn attempts(rows: &[Row], names: &Names) -> FastMap<u32, u64> {
    let lock = |row: &Row| row.lock.get().filter(|_| is_wait(row) && row.is_between_attempts(names));
    let series = joined(rows, lock, until_next_attempt_ns);
    series.iter().flat_map(|rows| rows.iter().map(|row| (row.at, rows[0].start_ns))).collect()
}

/// A moment at which a task ran has the lock that it released.
fn is_wait(row: &Row) -> bool {
    row.kind == StallKind::OffCpu && !row.while_running
}

/// Whom a task found to have the lock; of a name that was there before the recording, the task that then removes it.
fn found(row: &Row, releases: &Releases) -> Option<u32> {
    let released = || releases.first_after(row.lock.get()?, row.start_ns).map(|(_, tid)| tid);
    row.holder_tid.get().or_else(released)
}

/// The owners of each lock: those that the tasks found that went to sleep for it, and these tasks when they got it.
#[derive(Debug, Default)]
pub(crate) struct LockTurns {
    turns: FastMap<u32, Vec<Turn>>,
    waits: Waits,
    /// Of sleeps between attempts, by row: when the first of the attempts failed.
    attempts: FastMap<u32, u64>,
}

impl LockTurns {
    /// From rows that are ordered by task and start.
    pub(crate) fn new(
        rows: &[Row],
        names: &Names,
        releases: &Releases,
        whom: impl Fn(&Row) -> Option<u32>,
    ) -> LockTurns {
        let mut turns: FastMap<u32, Vec<Turn>> = FastMap::default();
        let waits = Waits::new(rows, names, releases);
        for (at, row) in rows.iter().enumerate() {
            let Some(lock) = row.lock.get().filter(|_| is_wait(row)) else { continue };
            let turns = turns.entry(lock).or_default();
            turns.extend(waits.holder(row, releases).map(|(tid, is_hint)| Turn { at_ns: row.start_ns, tid, is_hint }));
            // A task that finds the lock taken again sleeps again. No call ends while it has a lock of the kernel.
            let is_again = |next: &Row| {
                next.tid == row.tid
                    && next.lock.get() == row.lock.get()
                    && next.start_ns <= row.end_ns.saturating_add(SOON_NS)
                    && next.call_start_ns <= row.end_ns
            };
            let goes_on = rows.get(at + 1).is_some_and(is_again);
            // A timer ends the sleep between two attempts: the next one may fail, too.
            if !goes_on && whom(row).is_some() && !row.is_between_attempts(names) {
                turns.push(Turn { at_ns: row.runnable_ns, tid: row.tid, is_hint: false });
            }
        }
        turns.values_mut().for_each(|turns| turns.sort_by_key(|turn| turn.at_ns));
        LockTurns { turns, waits, attempts: attempts(rows, names) }
    }

    /// Since when a task tries to get the lock that a row is for; `None` where it waits in one call.
    pub(crate) fn tried_since_ns(&self, row: &Row) -> Option<u64> {
        self.attempts.get(&row.at).copied()
    }

    /// The times of a wait by holder, in order of time.
    pub(crate) fn during(&self, row: &Row, releases: &Releases) -> Vec<Held> {
        let (Some(lock), Some((tid, is_hint))) = (row.lock.get(), self.waits.holder(row, releases)) else {
            return Vec::new();
        };
        let from_ns = self.tried_since_ns(row).unwrap_or(row.start_ns);
        let turns = self.turns.get(&lock).map_or(&[][..], Vec::as_slice);
        let next = turns.partition_point(|turn| turn.at_ns <= from_ns);
        // The first of several attempts found the holder of that time.
        let first = turns[..next].last().filter(|_| from_ns < row.start_ns).map_or(tid, |turn| turn.tid);
        let mut held = vec![Held { tid: first, from_ns, to_ns: 0, is_hint }];
        for turn in turns[next..].iter().take_while(|turn| turn.at_ns < row.runnable_ns).take(TURNS) {
            let last = held.len() - 1;
            if turn.tid != held[last].tid && turn.tid != row.tid {
                held[last].to_ns = turn.at_ns;
                let (tid, from_ns, is_hint) = (turn.tid, turn.at_ns, turn.is_hint);
                held.push(Held { tid, from_ns, to_ns: 0, is_hint });
            }
        }
        let last = held.len() - 1;
        held[last].to_ns = row.runnable_ns;
        held
    }
}
