//! `intervals`: operations summed by class and interval, with their latency histogram.

use arrow_array::ArrayRef;
use arrow_array::types::UInt64Type;
use arrow_schema::{DataType, Field};
use model::latency;
use model::operation::{Bucket, IntervalRecord};

use super::column::{list_of_u64, lists, maybe_numbers, numbers, optional, required, texts};
use super::{ColumnError, Columns, Priority, Table};

/// One row for each class and interval.
pub(crate) struct Intervals;

impl Table for Intervals {
    type Row = IntervalRecord;
    const NAME: &'static str = "intervals";
    const PRIORITY: Priority = Priority::Intervals;

    fn columns() -> Vec<Field> {
        vec![
            required("phase", DataType::Utf8, "text"),
            required("class", DataType::Utf8, "text"),
            required("start_ns", DataType::UInt64, "nanoseconds"),
            required("end_ns", DataType::UInt64, "nanoseconds"),
            required("count", DataType::UInt64, "operations"),
            required("errors", DataType::UInt64, "operations"),
            required("bytes", DataType::UInt64, "bytes"),
            required("sum_ns", DataType::UInt64, "nanoseconds"),
            optional("max_ns", DataType::UInt64, "nanoseconds"),
            required("bucket_low_ns", list_of_u64(), "nanoseconds"),
            required("bucket_count", list_of_u64(), "operations"),
            required("stuck", DataType::UInt64, "operations"),
            optional("oldest_running_ns", DataType::UInt64, "nanoseconds"),
        ]
    }

    fn encode(rows: &[IntervalRecord]) -> Vec<ArrayRef> {
        let lengths = || rows.iter().map(|row| row.buckets.len());
        let buckets = || rows.iter().flat_map(|row| &row.buckets);
        vec![
            texts(rows, |row| &row.phase),
            texts(rows, |row| &row.class),
            numbers::<UInt64Type, _>(rows, |row| row.start_ns),
            numbers::<UInt64Type, _>(rows, |row| row.end_ns),
            numbers::<UInt64Type, _>(rows, |row| row.count),
            numbers::<UInt64Type, _>(rows, |row| row.errors),
            numbers::<UInt64Type, _>(rows, |row| row.bytes),
            numbers::<UInt64Type, _>(rows, |row| row.sum_ns),
            maybe_numbers::<UInt64Type, _>(rows, |row| row.max_ns),
            lists(lengths(), buckets().map(|bucket| latency::range_of(bucket.index).0)),
            lists(lengths(), buckets().map(|bucket| bucket.count)),
            numbers::<UInt64Type, _>(rows, |row| row.stuck),
            maybe_numbers::<UInt64Type, _>(rows, |row| row.oldest_running_ns),
        ]
    }

    fn decode(columns: &Columns<'_>) -> Result<Vec<IntervalRecord>, ColumnError> {
        let (phase, class) = (columns.text("phase")?, columns.text("class")?);
        let (start, end) = (columns.u64("start_ns")?, columns.u64("end_ns")?);
        let (count, errors, bytes) = (columns.u64("count")?, columns.u64("errors")?, columns.u64("bytes")?);
        let (sum, max) = (columns.u64("sum_ns")?, columns.maybe_u64("max_ns")?);
        let (lows, counts) = (columns.lists("bucket_low_ns")?, columns.lists("bucket_count")?);
        let (stuck, oldest_running) = (columns.u64("stuck")?, columns.maybe_u64("oldest_running_ns")?);
        let row = |row| {
            Ok(IntervalRecord {
                phase: phase.value(row).to_owned(),
                class: class.value(row).to_owned(),
                start_ns: start.value(row),
                end_ns: end.value(row),
                count: count.value(row),
                errors: errors.value(row),
                bytes: bytes.value(row),
                sum_ns: sum.value(row),
                max_ns: max.get(row),
                buckets: buckets(lows.get(row), counts.get(row))?,
                stuck: stuck.value(row),
                oldest_running_ns: oldest_running.get(row),
            })
        };
        (0..columns.rows()).map(row).collect()
    }

    fn span_ns(row: &IntervalRecord) -> Option<(u64, u64)> {
        Some((row.start_ns, row.end_ns))
    }

    fn weight(row: &IntervalRecord) -> usize {
        size_of::<IntervalRecord>() + row.phase.len() + row.class.len() + size_of_val(row.buckets.as_slice())
    }
}

fn buckets(lows: &[u64], counts: &[u64]) -> Result<Vec<Bucket>, ColumnError> {
    if lows.len() != counts.len() {
        return Err(ColumnError::new("bucket_count", "is not as long as bucket_low_ns"));
    }
    let bucket = |(low, count): (&u64, &u64)| Bucket { index: latency::index_of(*low), count: *count };
    Ok(lows.iter().zip(counts).map(bucket).collect())
}
