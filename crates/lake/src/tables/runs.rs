//! `runs`: facts of each run. A run is in the lake once it has its row here.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use model::run::RunDescription;

use crate::columns::Columns;
use crate::table::Table;

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRow {
    /// As it was recorded.
    pub description: RunDescription,
    /// Where it was when it was added.
    pub path: String,
    /// End on the wall clock: of the last sample or flush where it was cut off.
    pub end_wall_ns: Option<i64>,
    /// Whether it ended in an orderly way.
    pub closed: bool,
    /// Damaged or missing parts.
    pub damage: u64,
    /// Kinds of data that the recording lost.
    pub lost: u64,
    /// What the explanation would rest on and was not traced: `disk`.
    pub untraced: Vec<String>,
    /// Slow operations that were explained; `None` without a trace.
    pub stalls: Option<u64>,
    /// Sum of their durations.
    pub stall_ns: Option<u64>,
    /// Waits of the recorded command or load that had not ended with the recording; `None` without a trace.
    pub unfinished: Option<u64>,
    /// How long the longest of them had lasted: it took longer.
    pub longest_unfinished_ns: Option<u64>,
}

impl Table for RunRow {
    const NAME: &'static str = "runs";

    fn wall_ns(&self) -> i64 {
        self.description.started.wall_ns
    }

    fn batch(_: &[RunRow], begun: Columns<'_, RunRow>) -> Result<RecordBatch, ArrowError> {
        let duration_ns = |row: &RunRow| row.end_wall_ns?.checked_sub(row.wall_ns())?.try_into().ok();
        begun
            .number("duration_ns", "nanoseconds", duration_ns)
            .text("workload", |row| Some(&row.description.workload))
            .text("path", |row| Some(&row.path))
            .text("version", |row| Some(&row.description.version))
            .flag("closed", |row| row.closed)
            .number("damage", "count", |row| Some(row.damage))
            .number("lost", "count", |row| Some(row.lost))
            .texts("untraced", |row| row.untraced.iter().cloned().map(Some).collect())
            .flag("traced", |row| row.description.trace.is_some())
            .number("slower_than_ns", "nanoseconds", |row| Some(row.description.slower_than_ns))
            .number("stalls", "count", |row| row.stalls)
            .number("stall_ns", "nanoseconds", |row| row.stall_ns)
            .number("unfinished", "count", |row| row.unfinished)
            .number("longest_unfinished_ns", "nanoseconds", |row| row.longest_unfinished_ns)
            .text("boot_id", |row| Some(&row.description.host.boot_id))
            .text("architecture", |row| Some(&row.description.host.architecture))
            .number("cpus", "count", |row| Some(row.description.host.cpus.into()))
            .number("memory_bytes", "bytes", |row| Some(row.description.host.memory_bytes))
            .texts("devices", |row| row.description.devices.iter().map(|device| Some(device.name.clone())).collect())
            .texts("device_models", |row| row.description.devices.iter().map(|device| device.model.clone()).collect())
            .batch()
    }
}
