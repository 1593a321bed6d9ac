//! Explained operations as a table: a column for each cause.

use std::io;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use model::cause::Cause;

use crate::column::column;

/// The table's name.
pub const EXPLAINED: &str = "explained";

/// One slow operation. Times are on the monotonic clock unless the name says otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedRow {
    /// Key of its thread in `tasks`.
    pub task_key: Option<String>,
    /// Kernel thread id.
    pub tid: u32,
    /// Its process.
    pub pid: Option<u32>,
    /// The thread's name.
    pub task: Option<String>,
    /// Its cgroup.
    pub cgroup: Option<String>,
    /// Class of the load, or system call.
    pub operation: String,
    /// File.
    pub path: Option<String>,
    /// Start.
    pub start_ns: u64,
    /// Start on the wall clock.
    pub start_wall_ns: i64,
    /// Duration, ns.
    pub duration_ns: u64,
    /// Whether it had ended.
    pub finished: bool,
    /// Time by cause in the order of [`Cause::ALL`]; sums to the duration.
    pub causes_ns: [u64; Cause::ALL.len()],
    /// The chain of waits.
    pub chain: String,
    /// The thread at its end.
    pub culprit: Option<String>,
    /// Key of that thread in `tasks`.
    pub culprit_task_key: Option<String>,
    /// The disk of the request at its end.
    pub device: Option<String>,
}

/// The columns.
pub fn schema() -> SchemaRef {
    let text = |name: &str, nullable: bool| column(name, DataType::Utf8, "text", nullable);
    let mut fields = vec![
        text("task_key", true),
        column("tid", DataType::UInt32, "id", false),
        column("pid", DataType::UInt32, "id", true),
        text("task", true),
        text("cgroup", true),
        text("operation", false),
        text("path", true),
        column("start_ns", DataType::UInt64, "nanoseconds", false),
        column("start_wall_ns", DataType::Int64, "nanoseconds since 1970", false),
        column("duration_ns", DataType::UInt64, "nanoseconds", false),
        column("finished", DataType::Boolean, "flag", false),
        text("main_cause", false),
    ];
    let cause =
        |cause: Cause| -> Field { column(&format!("{}_ns", cause.name()), DataType::UInt64, "nanoseconds", false) };
    fields.extend(Cause::ALL.into_iter().map(cause));
    fields.extend([text("chain", false), text("culprit", true), text("culprit_task_key", true), text("device", true)]);
    Arc::new(Schema::new(fields))
}

/// Rows as a batch.
pub fn batch(rows: &[ExplainedRow]) -> io::Result<RecordBatch> {
    let text =
        |of: fn(&ExplainedRow) -> Option<&str>| -> ArrayRef { Arc::new(rows.iter().map(of).collect::<StringArray>()) };
    let number = |of: &dyn Fn(&ExplainedRow) -> u64| -> ArrayRef {
        Arc::new(rows.iter().map(|row| Some(of(row))).collect::<UInt64Array>())
    };
    let mut columns: Vec<ArrayRef> = vec![
        text(|row| row.task_key.as_deref()),
        Arc::new(rows.iter().map(|row| Some(row.tid)).collect::<UInt32Array>()),
        Arc::new(rows.iter().map(|row| row.pid).collect::<UInt32Array>()),
        text(|row| row.task.as_deref()),
        text(|row| row.cgroup.as_deref()),
        text(|row| Some(&row.operation)),
        text(|row| row.path.as_deref()),
        number(&|row| row.start_ns),
        Arc::new(rows.iter().map(|row| Some(row.start_wall_ns)).collect::<Int64Array>()),
        number(&|row| row.duration_ns),
        Arc::new(rows.iter().map(|row| Some(row.finished)).collect::<BooleanArray>()),
        text(|row| Some(row.main_cause().name())),
    ];
    columns.extend((0..Cause::ALL.len()).map(|cause| number(&move |row: &ExplainedRow| row.causes_ns[cause])));
    columns.extend([
        text(|row| Some(&row.chain)),
        text(|row| row.culprit.as_deref()),
        text(|row| row.culprit_task_key.as_deref()),
        text(|row| row.device.as_deref()),
    ]);
    RecordBatch::try_new(schema(), columns).map_err(io::Error::other)
}

impl ExplainedRow {
    /// The cause with the most time, the first of equal ones.
    pub fn main_cause(&self) -> Cause {
        let most = Cause::ALL.into_iter().zip(self.causes_ns).rev().max_by_key(|(_, ns)| *ns);
        most.map_or(Cause::Unexplained, |(cause, _)| cause)
    }
}
