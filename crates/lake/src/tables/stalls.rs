//! `stalls`: explained slow operations.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use export::explained::{self, ExplainedRow};
use model::cause::Cause;

use crate::columns::Columns;
use crate::table::Table;

/// One slow operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StallRow {
    /// As it is exported.
    pub explained: ExplainedRow,
    /// Type of the file system.
    pub file_system: Option<String>,
    /// Kernel name of the disk.
    pub device: Option<String>,
    /// Model that the disk reports.
    pub device_model: Option<String>,
    /// Name of the process that is its root blocker.
    pub blocker_task: Option<String>,
    /// That process's cgroup.
    pub blocker_cgroup: Option<String>,
    /// Class of the lock that its chain begins with or leads through.
    pub lock: Option<String>,
    /// As [`crate::fingerprint`] returns it.
    pub fingerprint: String,
}

/// Columns of the export that the lake takes over. Keys of tasks mean nothing without the run's other tables.
const TAKEN: [&str; 9] =
    ["tid", "task", "cgroup", "operation", "path", "duration_ns", "finished", "main_cause", "chain"];

impl Table for StallRow {
    const NAME: &'static str = "stalls";

    fn wall_ns(&self) -> i64 {
        self.explained.start_wall_ns
    }

    fn batch(rows: &[StallRow], begun: Columns<'_, StallRow>) -> Result<RecordBatch, ArrowError> {
        let explained: Vec<ExplainedRow> = rows.iter().map(|row| row.explained.clone()).collect();
        let explained = explained::batch(&explained).map_err(|error| ArrowError::ExternalError(Box::new(error)))?;
        let mut columns = begun;
        let causes = Cause::ALL.into_iter().map(|cause| format!("{}_ns", cause.name()));
        for name in TAKEN.into_iter().map(str::to_owned).chain(causes) {
            let at = explained.schema().index_of(&name)?;
            columns = columns.array(explained.schema().field(at).clone(), Arc::clone(explained.column(at)));
        }
        columns
            .number("main_cause_ns", "nanoseconds", |row| row.explained.causes_ns.into_iter().max())
            .text("file_system", |row| row.file_system.as_deref())
            .text("device", |row| row.device.as_deref())
            .text("device_model", |row| row.device_model.as_deref())
            .text("blocker_task", |row| row.blocker_task.as_deref())
            .text("blocker_cgroup", |row| row.blocker_cgroup.as_deref())
            .text("lock", |row| row.lock.as_deref())
            .text("fingerprint", |row| Some(&row.fingerprint))
            .batch()
    }
}
