//! Several waits that are one operation: for one request and its answer, and between attempts at one lock.

use model::stall::{Awaits, StallKind};
use model::system_call::traits;

use crate::blame::facts::names::Names;
use crate::blame::facts::rows::Row;

/// A task that was refused a lock tries again after its sleep, as soon as it gets a CPU.
pub(crate) const RETRY_NS: u64 = 20_000_000;
/// The tracer records waits for others from an eighth of a slow operation on: between two parts of an answer there may be one
/// that is shorter.
const PART: u64 = 8;

/// Rows that are one operation together. `is_free` says of a row that it is of no operation yet.
pub(crate) fn series<'a>(
    rows: &'a [Row],
    names: &Names,
    slower_than_ns: u64,
    is_free: impl Fn(&Row) -> bool,
) -> Vec<Vec<&'a Row>> {
    let is_free = |row: &Row| row.kind == StallKind::OffCpu && is_free(row);
    let request = |row: &Row| row.asked_ns.filter(|_| row.awaits.is_some_and(Awaits::is_asked) && is_free(row));
    let attempt = |row: &Row| row.lock.get().filter(|_| is_between_attempts(names, row) && is_free(row));
    let for_requests = joined(rows, request, slower_than_ns / PART).into_iter();
    // Who sleeps once after one attempt may have given up.
    let attempts = joined(rows, attempt, RETRY_NS).into_iter().filter(|rows| rows.len() > 1);
    for_requests.chain(attempts).collect()
}

fn is_between_attempts(names: &Names, row: &Row) -> bool {
    row.announced.is_some()
        && row.interruptible
        && row.call.is_some_and(|call| !names.traits(call).has(traits::LOCKS_FILE))
}

/// Rows of one task with the same key that follow each other, with no more than a gap between them.
pub(crate) fn joined<K: PartialEq>(rows: &[Row], key: impl Fn(&Row) -> Option<K>, gap_ns: u64) -> Vec<Vec<&Row>> {
    let mut all: Vec<(u32, K, Vec<&Row>)> = Vec::new();
    for row in rows {
        let Some(key) = key(row) else { continue };
        match all.last_mut() {
            Some((tid, of, rows))
                if *tid == row.tid
                    && *of == key
                    && rows.last().is_some_and(|last| row.start_ns <= last.end_ns.saturating_add(gap_ns)) =>
            {
                rows.push(row);
            }
            _ => all.push((row.tid, key, vec![row])),
        }
    }
    all.into_iter().map(|(.., rows)| rows).collect()
}

/// A sleep that a timer ended, after which the task went on waiting for the same request, was for the task that ended the next
/// one: PostgreSQL looks for deadlocks after a second.
pub(crate) fn continue_waits(rows: &mut [Row]) {
    let mut next: Option<Row> = None;
    for row in rows.iter_mut().rev().filter(|row| is_asked(row)) {
        let goes_on = next.as_ref().filter(|next| {
            (next.tid, next.asked_ns) == (row.tid, row.asked_ns) && next.start_ns <= row.end_ns.saturating_add(RETRY_NS)
        });
        if let Some(next) = goes_on.filter(|_| row.waker_tid.get().is_none_or(|waker| waker == 0)) {
            (row.waker_tid, row.waker_stack, row.awaits) = (next.waker_tid, next.waker_stack, next.awaits);
        }
        next = Some(row.clone());
    }
}

fn is_asked(row: &Row) -> bool {
    row.kind == StallKind::OffCpu && row.asked_ns.is_some() && row.awaits.is_some()
}
