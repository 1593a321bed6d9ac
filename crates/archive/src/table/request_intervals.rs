//! `request_intervals`: block requests summed by device, kind and interval.

use arrow_array::ArrayRef;
use arrow_array::types::UInt64Type;
use arrow_schema::{DataType, Field};
use model::operation::Bucket;
use model::stall::{RequestIntervalRecord, request_bucket, request_bucket_floor_ns};

use super::column::{list_of_u64, lists, numbers, required, texts, written};
use super::{ColumnError, Columns, Priority, Table, rwbs};

/// One row for each device, kind and interval.
pub(crate) struct RequestIntervals;

impl Table for RequestIntervals {
    type Row = RequestIntervalRecord;
    const NAME: &'static str = "request_intervals";
    const PRIORITY: Priority = Priority::Trace;

    fn columns() -> Vec<Field> {
        vec![
            required("start_ns", DataType::UInt64, "nanoseconds"),
            required("end_ns", DataType::UInt64, "nanoseconds"),
            required("device", DataType::Utf8, "text"),
            required("kind", DataType::Utf8, "text"),
            required("count", DataType::UInt64, "requests"),
            required("bytes", DataType::UInt64, "bytes"),
            required("queue_low_ns", list_of_u64(), "nanoseconds"),
            required("queue_count", list_of_u64(), "requests"),
            required("device_low_ns", list_of_u64(), "nanoseconds"),
            required("device_count", list_of_u64(), "requests"),
        ]
    }

    fn encode(rows: &[RequestIntervalRecord]) -> Vec<ArrayRef> {
        let lists_of = |histogram: fn(&RequestIntervalRecord) -> &[Bucket], item: fn(&Bucket) -> u64| {
            lists(rows.iter().map(|row| histogram(row).len()), rows.iter().flat_map(histogram).map(item))
        };
        let low_ns: fn(&Bucket) -> u64 = |bucket| request_bucket_floor_ns(bucket.index);
        let count: fn(&Bucket) -> u64 = |bucket| bucket.count;
        vec![
            numbers::<UInt64Type, _>(rows, |row| row.start_ns),
            numbers::<UInt64Type, _>(rows, |row| row.end_ns),
            written(rows, |row| &row.device, rwbs::write_device),
            texts(rows, |row| rwbs::letters(row.kind)),
            numbers::<UInt64Type, _>(rows, |row| row.count),
            numbers::<UInt64Type, _>(rows, |row| row.bytes),
            lists_of(|row| &row.queue, low_ns),
            lists_of(|row| &row.queue, count),
            lists_of(|row| &row.device_time, low_ns),
            lists_of(|row| &row.device_time, count),
        ]
    }

    fn decode(columns: &Columns<'_>) -> Result<Vec<RequestIntervalRecord>, ColumnError> {
        let (start, end) = (columns.u64("start_ns")?, columns.u64("end_ns")?);
        let (device, kind) = (columns.text("device")?, columns.text("kind")?);
        let (count, bytes) = (columns.u64("count")?, columns.u64("bytes")?);
        let (queue_lows, queue_counts) = (columns.lists("queue_low_ns")?, columns.lists("queue_count")?);
        let (device_lows, device_counts) = (columns.lists("device_low_ns")?, columns.lists("device_count")?);
        let row = |row| {
            let unknown = |name, text| ColumnError::new(name, format!("'{text}' is not known"));
            Ok(RequestIntervalRecord {
                start_ns: start.value(row),
                end_ns: end.value(row),
                device: rwbs::device(device.value(row)).ok_or_else(|| unknown("device", device.value(row)))?,
                kind: rwbs::kind(kind.value(row)).ok_or_else(|| unknown("kind", kind.value(row)))?,
                count: count.value(row),
                bytes: bytes.value(row),
                queue: buckets(queue_lows.get(row), queue_counts.get(row))?,
                device_time: buckets(device_lows.get(row), device_counts.get(row))?,
            })
        };
        (0..columns.rows()).map(row).collect()
    }

    fn span_ns(row: &RequestIntervalRecord) -> Option<(u64, u64)> {
        Some((row.start_ns, row.end_ns))
    }

    fn weight(row: &RequestIntervalRecord) -> usize {
        size_of::<RequestIntervalRecord>() + size_of_val(row.queue.as_slice()) + size_of_val(row.device_time.as_slice())
    }
}

fn buckets(lows: &[u64], counts: &[u64]) -> Result<Vec<Bucket>, ColumnError> {
    if lows.len() != counts.len() {
        return Err(ColumnError::new("queue_count, device_count", "one is not as long as its low_ns"));
    }
    let bucket = |(low, count): (&u64, &u64)| Bucket { index: request_bucket(*low), count: *count };
    Ok(lows.iter().zip(counts).map(bucket).collect())
}
