//! Threads that take turns at something that only one of them may do at a time, such as to write and sync a log. Java, Go and
//! condition variables let a thread wait for a lock and for work in the same way: what it does next tells them apart.

use model::stall::{Awaits, StallKind};

use crate::blame::facts::names::Name;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::operations::series::RETRY_NS;

/// Threads that a wait is followed through, from each to the one whose turn was before.
const TURNS: usize = 64;
/// Rows of one thread that are looked at.
const ROWS: usize = 64;

/// The waits for a thread of the same process that are waits for a turn: the thread then does what the one that woke it had just
/// done, a call that waits for storage, and such turns account for at least half of the wait.
pub(crate) fn turns(index: &RunIndex) -> Vec<u32> {
    let waits = index.rows.iter().zip(0..).filter(|(row, _)| is_wait(row));
    waits.filter(|(row, _)| is_for_turn(index, row)).map(|(_, at)| at).collect()
}

fn is_wait(row: &Row) -> bool {
    row.kind == StallKind::OffCpu && matches!(row.awaits, Some(Awaits::Work | Awaits::Lock))
}

/// A wait for storage within a call.
fn storage_call(row: &Row) -> Option<Name> {
    row.call.filter(|_| row.kind == StallKind::OffCpu && row.awaits.is_none() && !row.interruptible)
}

fn is_for_turn(index: &RunIndex, row: &Row) -> bool {
    if row.awaits != Some(Awaits::Work) {
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
        if !is_wait(next) && next.runnable_ns > next.start_ns {
            return storage_call(next);
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
            if storage_call(done) == Some(call) {
                had_turn = true;
                ns += done.end_ns.min(until_ns).saturating_sub(done.start_ns.max(row.start_ns));
                until_ns = done.start_ns;
            } else if is_wait(done) {
                next = index.waker(done).filter(|_| had_turn);
                until_ns = done.runnable_ns.min(until_ns);
                break;
            }
        }
    }
    ns
}
