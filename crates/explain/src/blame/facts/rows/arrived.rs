//! Rows as they arrive, each with those of its task, until they are put in order.

use crate::blame::facts::rows::Row;
use crate::blame::facts::rows::partial_rows::drop_partial_rows;
use crate::blame::facts::rows::row_order;
use crate::blame::facts::rows::run_delays::queued;
use crate::hashing::FastMap;

/// Rows by task. Those of one task arrive nearly in order and are near each other in memory, which makes them cheap to
/// sort: all rows of a long run are far more than any cache holds.
#[derive(Debug, Default)]
pub(crate) struct Arrived(FastMap<u32, Vec<Row>>);

impl Arrived {
    pub(crate) fn push(&mut self, row: Row) {
        self.0.entry(row.tid).or_default().push(row);
    }

    /// In no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Row> {
        self.0.values().flatten()
    }

    /// The same.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Row> {
        self.0.values_mut().flatten()
    }

    /// Ordered by task and start, with the short waits for a CPU that follow from them, and without rows that are parts
    /// of others.
    pub(crate) fn in_order(self) -> Vec<Row> {
        let mut tasks: Vec<(u32, Vec<Row>)> = self.0.into_iter().collect();
        tasks.sort_unstable_by_key(|(tid, _)| *tid);
        tasks.iter_mut().for_each(|(_, rows)| put_in_order(rows));
        // Exactly as large as needed, and those of each task go as soon as they are copied.
        let mut all = Vec::with_capacity(tasks.iter().map(|(_, rows)| rows.len()).sum());
        tasks.into_iter().for_each(|(_, mut rows)| all.append(&mut rows));
        all
    }
}

/// The same of one task.
fn put_in_order(rows: &mut Vec<Row>) {
    row_order::sort(rows);
    let queued = queued(rows);
    if !queued.is_empty() {
        rows.extend(queued);
        row_order::sort(rows);
    }
    drop_partial_rows(rows);
}
