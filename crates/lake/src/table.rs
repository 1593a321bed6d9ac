//! What the lake's tables have in common.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use crate::columns::Columns;

/// Facts of a run that each of its rows repeats: queries need no join, and in Parquet a constant takes no space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunKey {
    /// Identity of the run.
    pub run: String,
    /// The machine's name.
    pub host: String,
    /// Kernel release.
    pub kernel: String,
    /// Whether the run lacks nothing.
    pub complete: bool,
}

/// A table of the lake.
pub(crate) trait Table: Sized {
    const NAME: &'static str;

    /// Begin on the wall clock: it decides on the day.
    fn wall_ns(&self) -> i64;

    /// Rows with their own columns, after those of the run.
    fn batch(rows: &[Self], begun: Columns<'_, Self>) -> Result<RecordBatch, ArrowError>;

    /// Rows of a run.
    fn batch_of(key: &RunKey, rows: &[Self]) -> Result<RecordBatch, ArrowError> {
        let columns = Columns::of(rows).text("run", |_| Some(&key.run)).text("kernel", |_| Some(&key.kernel));
        Self::batch(rows, columns.flag("complete", |_| key.complete).moment("start_utc", Self::wall_ns))
    }
}
