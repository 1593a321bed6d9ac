//! Rows of one kind in the order in which they came, and the memory that they take.

use std::collections::VecDeque;

use model::operation::{IntervalRecord, OperationRecord};
use model::stall::{RequestIntervalRecord, RequestRecord, StallRecord};
use model::usage::UsageRecord;
use model::user_stack::UserStackRecord;

use super::size::Size;

/// A row of a time.
pub(super) trait Timed: Size + Clone {
    /// When it ended, on the monotonic clock.
    fn ended_ns(&self) -> u64;
}

/// The latest rows, the oldest first.
#[derive(Debug)]
pub(super) struct Table<Row> {
    rows: VecDeque<Row>,
    bytes: usize,
}

impl<Row> Default for Table<Row> {
    fn default() -> Table<Row> {
        Table { rows: VecDeque::new(), bytes: 0 }
    }
}

impl<Row: Size> Table<Row> {
    pub(super) fn push(&mut self, row: Row) {
        self.bytes += row.size();
        self.rows.push_back(row);
    }

    pub(super) fn pop(&mut self) -> Option<Row> {
        let row = self.rows.pop_front()?;
        self.bytes -= row.size();
        Some(row)
    }

    pub(super) fn first(&self) -> Option<&Row> {
        self.rows.front()
    }

    pub(super) fn last(&self) -> Option<&Row> {
        self.rows.back()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Row> + Clone {
        self.rows.iter()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl<Row: Timed> Table<Row> {
    pub(super) fn extend(&mut self, rows: &[Row]) {
        rows.iter().for_each(|row| self.push(row.clone()));
    }
}

impl Timed for StallRecord {
    fn ended_ns(&self) -> u64 {
        self.end_ns()
    }
}

impl Timed for OperationRecord {
    fn ended_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.duration_ns)
    }
}

impl Timed for IntervalRecord {
    fn ended_ns(&self) -> u64 {
        self.end_ns
    }
}

impl Timed for RequestRecord {
    fn ended_ns(&self) -> u64 {
        self.completed_ns
    }
}

impl Timed for RequestIntervalRecord {
    fn ended_ns(&self) -> u64 {
        self.end_ns
    }
}

impl Timed for UsageRecord {
    fn ended_ns(&self) -> u64 {
        self.end_ns
    }
}

impl Timed for UserStackRecord {
    fn ended_ns(&self) -> u64 {
        self.end_ns
    }
}
