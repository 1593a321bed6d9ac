//! The list of slow operations and sleeps: all in brief, the longest in full.

use std::cmp::Reverse;

use explain::blame::{Accounting, Cause, Lanes, OperationAccount, Stall};
use serde_json::{Map, Value, json};

use crate::columns::{Ascending, document_columns};
use crate::limits::Limits;
use crate::number::{NameIndex, NameTable};
use crate::sleeps::SleepStall;

document_columns! {
    /// A slow operation in the list.
    ListedStall {
        /// number among all slow operations of the run; the differences
        number: Ascending => "number",
        /// start, since the run's start, µs; the differences
        start_us: Ascending => "start",
        /// µs
        duration_us: u64 => "duration",
        /// operation class or system call: index in `names`
        operation: NameIndex => "operation",
        /// task: index in `names`
        task: NameIndex => "task",
        /// file: index in `names`
        path: Option<NameIndex> => "path",
        /// cause with the largest share: index in the run's causes
        cause: Cause => "cause",
        /// that cause's share of the duration, percent
        share_percent: u64 => "share",
        /// 0: still running at the end of the run
        finished: bool => "finished",
        /// 0: of a program beside the recorded command or load
        own: bool => "own",
    }
}

/// Collects slow operations in order of their starts.
pub(crate) struct StallListing {
    started_ns: u64,
    rows: Vec<ListedStall>,
    /// Sleeps in full, by number.
    sleeps: Map<String, Value>,
    names: NameTable,
}

impl StallListing {
    pub(crate) fn new(started_ns: u64, capacity: usize) -> StallListing {
        StallListing { started_ns, rows: Vec::with_capacity(capacity), sleeps: Map::new(), names: NameTable::default() }
    }

    /// Adds an operation and its time by cause.
    pub(crate) fn add(&mut self, stall: &OperationAccount<'_>, by_cause_ns: &[u64; Cause::ALL.len()]) {
        let largest = Cause::ALL.into_iter().rev().max_by_key(|&cause| by_cause_ns[cause as usize]);
        let cause = largest.unwrap_or(Cause::Unexplained);
        let task = stall.task.map_or_else(|| format!("thread {}", stall.tid), |name| format!("{name}/{}", stall.tid));
        let names = &mut self.names;
        self.rows.push(ListedStall {
            number: Ascending(self.rows.len() as u64),
            start_us: Ascending(stall.start_ns.saturating_sub(self.started_ns) / 1_000),
            duration_us: stall.duration_ns / 1_000,
            operation: names.index_of(stall.operation),
            task: names.index_of(&task),
            path: stall.path.map(|path| names.index_of(path)),
            cause,
            share_percent: (by_cause_ns[cause as usize] * 100 + stall.duration_ns / 2) / stall.duration_ns.max(1),
            finished: stall.finished,
            own: stall.of_command != Some(false),
        });
    }

    /// Adds a sleep, behind the operations.
    pub(crate) fn sleep(&mut self, sleep: &SleepStall) {
        let stall = &sleep.stall;
        let names = &mut self.names;
        let row = ListedStall {
            number: Ascending(self.rows.len() as u64),
            start_us: Ascending(stall.start_ns.saturating_sub(self.started_ns) / 1_000),
            duration_us: stall.duration_ns / 1_000,
            operation: names.index_of(&stall.operation),
            task: names.index_of(&stall.task.to_string()),
            path: None,
            cause: stall.causes[0].cause,
            share_percent: 100,
            finished: stall.finished,
            own: stall.of_command != Some(false),
        };
        self.sleeps.insert(row.number.0.to_string(), value(stall, &sleep.lanes));
        self.rows.push(row);
    }

    /// The list in order of starts, and then the sleeps: only the longest where there are too many, the longest of them
    /// in full.
    pub(crate) fn into_value(self, accounting: &Accounting, limits: Limits) -> Value {
        let rows = &self.rows;
        let mut longest: Vec<usize> = (0..rows.len()).collect();
        longest.sort_by_key(|&number| (Reverse(rows[number].duration_us), number));
        longest.truncate(limits.stalls);
        let in_full: Vec<usize> = longest.iter().copied().take(limits.in_full).collect();
        longest.sort_unstable();
        let listed: Vec<&ListedStall> = longest.iter().map(|&number| &rows[number]).collect();
        let full = accounting.stalls_with_lanes(&in_full);
        let mut full: Map<String, Value> =
            full.iter().map(|(number, one, lanes)| (number.to_string(), value(one, lanes))).collect();
        full.extend(self.sleeps);
        let mut list = ListedStall::columns(&listed);
        list.insert("seen".to_owned(), json!(rows.len()));
        list.insert("names".to_owned(), self.names.into_value());
        list.insert("full".to_owned(), Value::Object(full));
        Value::Object(list)
    }
}

/// A stall of that number in full; `None` if there is none.
pub fn stall(accounting: &Accounting, number: usize) -> Option<Value> {
    let (_, one, lanes) = accounting.stalls_with_lanes(&[number]).pop()?;
    Some(value(&one, &lanes))
}

fn value(one: &Stall, lanes: &Lanes) -> Value {
    let mut value = report::json::stall(one);
    value["lanes"] = crate::lanes::lanes(lanes, one.start_ns);
    value
}
