//! `samples`: when each sample was taken and what it cost.

use arrow_array::ArrayRef;
use arrow_array::types::{Int64Type, UInt32Type, UInt64Type};
use arrow_schema::{DataType, Field};
use model::metric::SampleHeader;
use model::time::Moment;

use super::column::{numbers, required};
use super::{ColumnError, Columns, Priority, Table};

/// One row for each sample.
pub(crate) struct Samples;

impl Table for Samples {
    type Row = SampleHeader;
    const NAME: &'static str = "samples";
    const PRIORITY: Priority = Priority::Metrics;

    fn columns() -> Vec<Field> {
        vec![
            required("sample", DataType::UInt32, "ordinal"),
            required("monotonic_ns", DataType::UInt64, "nanoseconds"),
            required("wall_ns", DataType::Int64, "nanoseconds since 1970"),
            required("late_ns", DataType::UInt64, "nanoseconds"),
            required("cpu_ns", DataType::UInt64, "nanoseconds"),
            required("took_ns", DataType::UInt64, "nanoseconds"),
        ]
    }

    fn encode(rows: &[SampleHeader]) -> Vec<ArrayRef> {
        vec![
            numbers::<UInt32Type, _>(rows, |row| row.sample),
            numbers::<UInt64Type, _>(rows, |row| row.at.monotonic_ns),
            numbers::<Int64Type, _>(rows, |row| row.at.wall_ns),
            numbers::<UInt64Type, _>(rows, |row| row.late_ns),
            numbers::<UInt64Type, _>(rows, |row| row.cpu_ns),
            numbers::<UInt64Type, _>(rows, |row| row.took_ns),
        ]
    }

    fn decode(columns: &Columns<'_>) -> Result<Vec<SampleHeader>, ColumnError> {
        let (sample, monotonic, wall) = (columns.u32("sample")?, columns.u64("monotonic_ns")?, columns.i64("wall_ns")?);
        let (late, cpu, took) = (columns.u64("late_ns")?, columns.u64("cpu_ns")?, columns.u64("took_ns")?);
        let row = |row| SampleHeader {
            sample: sample.value(row),
            at: Moment { monotonic_ns: monotonic.value(row), wall_ns: wall.value(row) },
            late_ns: late.value(row),
            cpu_ns: cpu.value(row),
            took_ns: took.value(row),
        };
        Ok((0..columns.rows()).map(row).collect())
    }

    fn span_ns(row: &SampleHeader) -> Option<(u64, u64)> {
        Some((row.at.monotonic_ns, row.at.monotonic_ns))
    }
}
