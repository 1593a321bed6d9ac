//! Threads that take turns at something that only one of them may do at a time, such as to write and sync a log. Java,
//! Go and condition variables let a thread wait for a lock and for work in the same way: what it does next tells them
//! apart.

use model::stall::{Awaits, StallKind};

use crate::blame::facts::intent::Intent;
use crate::blame::facts::names::Name;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::rule::{Example, Rule};
use crate::thresholds::RETRY_NS;

/// Threads that a wait is followed through, from each to the one whose turn was before.
const TURNS: usize = 64;
/// Rows of one thread that are looked at.
const ROWS: usize = 64;

pub(crate) const RULE: Rule = Rule {
    id: "waits-for-its-turn",
    concludes: "A thread that seemed to wait for work waited for a lock: for its turn at what only one thread may do \
                at a time.",
    from: "The thread then sleeps for storage in the call in which the thread that woke it had just slept, and such \
           turns of others took at least half of \
           its wait.",
    because: "Java, Go and condition variables let a thread wait for a lock and for work in the same way. A worker is \
              given work by a thread that does \
              not do it itself; a thread that waits for its turn does the same as the one before.",
    unless: "A thread hands out what it also does itself: its workers then seem to take turns.",
    example: Example {
        timeline: "
            task 7 |n               | pid=7
            task 9 |n               | pid=7
            off 7 | ssssssssss     | call=futex stack=futex_do_wait state=1 awaits=work waker=9
            off 7 |           sss  | call=fdatasync stack=jbd2_log_wait_commit
            off 9 | ssssssssss     | call=fdatasync stack=jbd2_log_wait_commit",
        causes: "journal 10",
        chain: "/7: journal 10 < /9: journal 10",
    },
};

pub(crate) fn find(index: &RunIndex) -> Vec<(u32, Intent)> {
    let waits = index.rows.iter().filter(|row| is_wait(index, row) && takes_turns(index, row));
    waits.map(|row| (row.at, Intent { what: Some(Awaits::Lock), ..*index.intent(row) })).collect()
}

fn is_wait(index: &RunIndex, row: &Row) -> bool {
    row.kind == StallKind::OffCpu && matches!(index.awaits(row), Some(Awaits::Work | Awaits::Lock))
}

/// A wait for storage within a call.
fn storage_call(index: &RunIndex, row: &Row) -> Option<Name> {
    row.call.filter(|_| row.kind == StallKind::OffCpu && index.awaits(row).is_none() && !row.interruptible)
}

fn takes_turns(index: &RunIndex, row: &Row) -> bool {
    if index.awaits(row) != Some(Awaits::Work) {
        return false;
    }
    let Some(call) = next_call(index, row) else { return false };
    turns_ns(index, row, call) >= (row.runnable_ns - row.start_ns) / 2
}

/// The call that the thread waits for storage in as soon as it has its turn. It may have to wait again before.
fn next_call(index: &RunIndex, row: &Row) -> Option<Name> {
    let (rows, _) = index.slice_of(row.tid);
    let mut end_ns = row.end_ns;
    for next in &rows[rows.partition_point(|other| other.start_ns < row.end_ns)..] {
        if next.kind != StallKind::OffCpu {
            continue;
        }
        if next.start_ns > end_ns.saturating_add(RETRY_NS) {
            return None;
        }
        if !is_wait(index, next) && next.runnable_ns > next.start_ns {
            return storage_call(index, next);
        }
        end_ns = next.end_ns;
    }
    None
}

/// How much of a wait the turns of others took, of each its waits in that call.
fn turns_ns(index: &RunIndex, row: &Row, call: Name) -> u64 {
    let pid = index.tasks.pid(row.tid, row.end_ns);
    let (mut next, mut until_ns, mut ns) = (index.waker(row), row.runnable_ns, 0);
    for _ in 0..TURNS {
        let Some(tid) = next.filter(|&tid| tid != row.tid && index.tasks.pid(tid, until_ns) == pid) else { break };
        next = None;
        // A thread that hands out work, as to a pool, does not do it itself.
        let mut had_turn = false;
        for (_, done) in index.rows_between(tid, row.start_ns, until_ns).take(ROWS) {
            if storage_call(index, done) == Some(call) {
                had_turn = true;
                ns += done.end_ns.min(until_ns).saturating_sub(done.start_ns.max(row.start_ns));
                until_ns = done.start_ns;
            } else if is_wait(index, done) {
                next = index.waker(done).filter(|_| had_turn);
                until_ns = done.runnable_ns.min(until_ns);
                break;
            }
        }
    }
    ns
}
