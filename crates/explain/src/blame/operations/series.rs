//! Several waits that are one operation: for one request and its answer, and between attempts at one lock.

use model::stall::{Awaits, StallKind};
use model::system_call::traits;

use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::thresholds::{RETRY_NS, TRACED_PART};

/// Rows that are one operation together. `is_free` says of a row that it is of no operation yet.
pub(crate) fn series(index: &RunIndex, slower_than_ns: u64, is_free: impl Fn(&Row) -> bool) -> Vec<Vec<&Row>> {
    let is_free = |row: &Row| row.kind == StallKind::OffCpu && is_free(row);
    let request =
        |row: &Row| index.asked_ns(row).filter(|_| index.awaits(row).is_some_and(Awaits::is_asked) && is_free(row));
    let attempt = |row: &Row| row.lock.get().filter(|_| is_between_attempts(index, row) && is_free(row));
    let for_requests = joined(&index.rows, request, slower_than_ns / TRACED_PART).into_iter();
    // Who sleeps once after one attempt may have given up.
    let attempts = joined(&index.rows, attempt, RETRY_NS).into_iter().filter(|rows| rows.len() > 1);
    for_requests.chain(attempts).collect()
}

fn is_between_attempts(index: &RunIndex, row: &Row) -> bool {
    row.announced.is_some() && row.interruptible && row.call.is_some() && !index.does(row, traits::LOCKS_FILE)
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
