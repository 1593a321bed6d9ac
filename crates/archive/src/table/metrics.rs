//! `metrics`: the changes of metrics' values.
//!
//! Values are stored as the kernel gave them. Differences between neighbours were tried: they save 3 % of the
//! bytes, on a busy machine's /proc as on noise, which does not pay for making every reader sum them up.

use arrow_array::ArrayRef;
use arrow_array::types::{Int64Type, UInt32Type};
use arrow_schema::{DataType, Field};
use model::metric::{Change, MetricId};

use super::column::{maybe_numbers, numbers, optional, required};
use super::{ColumnError, Columns, Priority, Table};

/// One row for each change.
pub(crate) struct Metrics;

impl Table for Metrics {
    type Row = Change;
    const NAME: &'static str = "metrics";
    const PRIORITY: Priority = Priority::Metrics;

    fn columns() -> Vec<Field> {
        vec![
            required("sample", DataType::UInt32, "ordinal"),
            required("metric", DataType::UInt32, "id"),
            optional("value", DataType::Int64, "the descriptor's"),
        ]
    }

    fn encode(rows: &[Change]) -> Vec<ArrayRef> {
        vec![
            numbers::<UInt32Type, _>(rows, |row| row.sample),
            numbers::<UInt32Type, _>(rows, |row| row.metric.0),
            maybe_numbers::<Int64Type, _>(rows, |row| row.value),
        ]
    }

    fn decode(columns: &Columns<'_>) -> Result<Vec<Change>, ColumnError> {
        let (sample, metric, value) = (columns.u32("sample")?, columns.u32("metric")?, columns.maybe_i64("value")?);
        let row =
            |row| Change { sample: sample.value(row), metric: MetricId(metric.value(row)), value: value.get(row) };
        Ok((0..columns.rows()).map(row).collect())
    }

    /// A metric's values side by side share their upper bytes. The sort is stable: a metric that changes twice in a
    /// sample keeps the later value last.
    fn arrange(rows: &mut [Change]) {
        rows.sort_by_key(|row| (row.metric, row.sample));
    }
}
