//! Rows of one task that belong together though other rows or gaps lie between them.

use crate::blame::facts::rows::Row;
use crate::thresholds::RETRY_NS;

/// How long after a sleep the next one begins at most that is between attempts at the same. Between two attempts that
/// both failed a task did not get what it wanted. One sleep of that length may be missing, with the attempts around it:
/// the tracer misses a few in a thousand.
pub(crate) fn until_next_attempt_ns(sleep: &Row) -> u64 {
    (sleep.end_ns - sleep.start_ns).saturating_add(RETRY_NS)
}

/// Rows of one task with the same key that follow each other, each with no more than a gap after it.
pub(crate) fn joined<K: PartialEq>(
    rows: &[Row],
    key: impl Fn(&Row) -> Option<K>,
    gap_ns: impl Fn(&Row) -> u64,
) -> Vec<Vec<&Row>> {
    let mut all: Vec<(u32, K, Vec<&Row>)> = Vec::new();
    for row in rows {
        let Some(key) = key(row) else { continue };
        match all.last_mut() {
            Some((tid, of, rows))
                if *tid == row.tid
                    && *of == key
                    && rows.last().is_some_and(|last| row.start_ns <= last.end_ns.saturating_add(gap_ns(last))) =>
            {
                rows.push(row);
            }
            _ => all.push((row.tid, key, vec![row])),
        }
    }
    all.into_iter().map(|(.., rows)| rows).collect()
}
