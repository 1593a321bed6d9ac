//! `tasks`: who the threads are that other tables name by number.

use arrow_array::ArrayRef;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_schema::{DataType, Field};
use model::stall::TaskRecord;

use super::column::{maybe_texts, numbers, optional, required, texts};
use super::{ColumnError, Columns, Priority, Table};

/// One row for each thread; another one when its number comes again.
pub(crate) struct Tasks;

impl Table for Tasks {
    type Row = TaskRecord;
    const NAME: &'static str = "tasks";
    const PRIORITY: Priority = Priority::Trace;

    fn columns() -> Vec<Field> {
        vec![
            required("tid", DataType::UInt32, "id"),
            required("pid", DataType::UInt32, "id"),
            required("name", DataType::Utf8, "text"),
            optional("cgroup", DataType::Utf8, "text"),
            required("seen_ns", DataType::UInt64, "nanoseconds"),
        ]
    }

    fn encode(rows: &[TaskRecord]) -> Vec<ArrayRef> {
        vec![
            numbers::<UInt32Type, _>(rows, |row| row.tid),
            numbers::<UInt32Type, _>(rows, |row| row.pid),
            texts(rows, |row| &row.name),
            maybe_texts(rows, |row| row.cgroup.as_deref()),
            numbers::<UInt64Type, _>(rows, |row| row.seen_ns),
        ]
    }

    fn decode(columns: &Columns<'_>) -> Result<Vec<TaskRecord>, ColumnError> {
        let (tid, pid, name) = (columns.u32("tid")?, columns.u32("pid")?, columns.text("name")?);
        let (cgroup, seen) = (columns.maybe_text("cgroup")?, columns.u64("seen_ns")?);
        let row = |row| TaskRecord {
            tid: tid.value(row),
            pid: pid.value(row),
            name: name.value(row).to_owned(),
            cgroup: cgroup.get(row),
            seen_ns: seen.value(row),
        };
        Ok((0..columns.rows()).map(row).collect())
    }

    fn weight(row: &TaskRecord) -> usize {
        size_of::<TaskRecord>() + row.name.len() + row.cgroup.as_ref().map_or(0, String::len)
    }
}
