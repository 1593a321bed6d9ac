//! Several waits that are one operation: for one request and its answer, between attempts at one lock, and for storage
//! in one system call that has not returned.

use model::stall::{Awaits, StallKind};

use crate::blame::facts::rows::Row;
use crate::blame::facts::rows::joined::{joined, until_next_attempt_ns};
use crate::blame::facts::run_index::RunIndex;
use crate::thresholds::TRACED_PART;

/// Rows that are one operation together. `is_free` says of a row that it is of no operation yet.
pub(crate) fn series<'a>(
    index: &'a RunIndex,
    slower_than_ns: u64,
    is_free: &dyn Fn(&Row) -> bool,
) -> Vec<Vec<&'a Row>> {
    let is_free = |row: &Row| row.kind == StallKind::OffCpu && is_free(row);
    let request =
        |row: &Row| index.asked_ns(row).filter(|_| index.awaits(row).is_some_and(Awaits::is_asked) && is_free(row));
    let is_attempt = |row: &Row| row.is_between_attempts(&index.names) && index.announced(row).is_some();
    let attempt = |row: &Row| row.lock.get().filter(|_| is_attempt(row) && is_free(row));
    let part_ns = slower_than_ns / TRACED_PART;
    let for_requests = joined(&index.rows, request, |_| part_ns).into_iter();
    // A task that sleeps once after one attempt may have given up.
    let attempts = joined(&index.rows, attempt, until_next_attempt_ns).into_iter().filter(|rows| rows.len() > 1);
    for_requests.chain(attempts).collect()
}

/// Waits for storage that follow each other in one system call. A call that has returned has a row of its own, and is
/// of an operation.
pub(crate) fn in_calls<'a>(
    index: &'a RunIndex,
    slower_than_ns: u64,
    is_free: &dyn Fn(&Row) -> bool,
) -> Vec<Vec<&'a Row>> {
    let is_for_storage = |row: &Row| {
        let sleeps = row.kind == StallKind::OffCpu && row.runnable_ns > row.start_ns;
        // The last one may not have ended.
        (sleeps || row.kind == StallKind::Blocked) && row.switched && !row.interruptible && !row.is_stopped()
    };
    let call = |row: &Row| Some(row.call_start_ns).filter(|ns| *ns > 0 && is_for_storage(row) && is_free(row));
    let in_calls = joined(&index.rows, call, |_| slower_than_ns / TRACED_PART);
    in_calls.into_iter().filter(|rows| rows.len() > 1).collect()
}
