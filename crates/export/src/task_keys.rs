//! Keys of threads. Thread ids are reused: a key names one row of the table `tasks`.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Schema, SchemaRef};
use model::stall::TaskRecord;

use crate::column::column;

/// The keys of a run's threads.
#[derive(Debug, Default)]
pub struct TaskKeys {
    /// When each thread id was seen, in order.
    seen: HashMap<u32, Vec<u64>>,
}

/// A column of keys that a table gets: its name, the column of thread ids, and the columns whose sum is the moment.
struct KeyColumn {
    name: &'static str,
    tid: &'static str,
    moment: &'static [&'static str],
}

/// The key of each table's own thread comes first.
fn key_columns(table: &str) -> &'static [KeyColumn] {
    const OWN: &str = "task_key";
    match table {
        "tasks" => &[KeyColumn { name: OWN, tid: "tid", moment: &["seen_ns"] }],
        "operations" => &[KeyColumn { name: OWN, tid: "tid", moment: &["start_ns", "duration_ns"] }],
        "requests" => &[KeyColumn { name: OWN, tid: "tid", moment: &["completed_ns"] }],
        "stalls" => &[
            KeyColumn { name: OWN, tid: "tid", moment: &["start_ns", "duration_ns"] },
            KeyColumn { name: "waker_task_key", tid: "waker_tid", moment: &["start_ns", "duration_ns"] },
        ],
        _ => &[],
    }
}

impl TaskKeys {
    /// Adds rows of the table `tasks`.
    pub fn add(&mut self, tasks: &[TaskRecord]) {
        for task in tasks {
            let seen = self.seen.entry(task.tid).or_default();
            let at = seen.partition_point(|seen_ns| *seen_ns < task.seen_ns);
            seen.insert(at, task.seen_ns);
        }
    }

    /// The key of a thread at a moment: its id, and the number of its row among those of that id. `None` where the run
    /// has no row of it.
    pub fn key(&self, tid: u32, at_ns: u64) -> Option<String> {
        let seen = self.seen.get(&tid)?;
        let after = seen.partition_point(|seen_ns| *seen_ns <= at_ns);
        Some(format!("{tid}-{}", after.saturating_sub(1)))
    }

    /// The columns of a table with those of its keys.
    pub fn schema(table: &str, schema: &SchemaRef) -> SchemaRef {
        let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
        fields.extend(key_columns(table).iter().map(|key| Arc::new(column(key.name, DataType::Utf8, "text", true))));
        Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
    }

    /// The rows of a table with their keys.
    pub fn keyed(&self, table: &str, rows: &RecordBatch) -> io::Result<RecordBatch> {
        let mut columns: Vec<ArrayRef> = rows.columns().to_vec();
        for key in key_columns(table) {
            columns.push(Arc::new(
                self.column(key, rows).ok_or_else(|| io::Error::other(format!("{table}: no {}", key.tid)))?,
            ));
        }
        RecordBatch::try_new(TaskKeys::schema(table, &rows.schema()), columns).map_err(io::Error::other)
    }

    fn column(&self, key: &KeyColumn, rows: &RecordBatch) -> Option<StringArray> {
        let tids: &UInt32Array = rows.column_by_name(key.tid)?.as_primitive_opt::<UInt32Type>()?;
        let moments: Vec<&UInt64Array> = key
            .moment
            .iter()
            .map(|name| rows.column_by_name(name)?.as_primitive_opt::<UInt64Type>())
            .collect::<Option<_>>()?;
        let at_ns = |row: usize| moments.iter().fold(0_u64, |sum, moment| sum.saturating_add(moment.value(row)));
        let key = |row: usize| if tids.is_null(row) { None } else { self.key(tids.value(row), at_ns(row)) };
        Some((0..rows.num_rows()).map(key).collect())
    }
}

#[cfg(test)]
mod tests {
    use model::stall::TaskRecord;

    use super::TaskKeys;

    #[test]
    fn a_reused_thread_id_has_a_key_for_each_thread() {
        let task = |seen_ns| TaskRecord {
            tid: 7,
            pid: 7,
            name: "a".into(),
            cgroup: None,
            started_by: None,
            role: None,
            container: None,
            io_cgroup: None,
            seen_ns,
        };
        let mut keys = TaskKeys::default();
        keys.add(&[task(50), task(10)]);
        for (at_ns, expected) in [(0, "7-0"), (10, "7-0"), (49, "7-0"), (50, "7-1"), (u64::MAX, "7-1")] {
            assert_eq!(keys.key(7, at_ns).as_deref(), Some(expected), "at {at_ns}");
        }
        assert_eq!(keys.key(8, 50), None);
    }
}
