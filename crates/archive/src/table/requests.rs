//! `requests`: block requests, one by one. There may be hundreds of thousands a second, so that a row costs neither an
//! allocation nor more bytes than it must: the moments of a request's life are small numbers before its end.

use arrow_array::ArrayRef;
use arrow_array::types::{Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_schema::{DataType, Field};
use model::stall::RequestRecord;

use super::column::{flags, maybe_numbers, numbers, optional, required, texts, written};
use super::{ColumnError, Columns, Priority, Table, rwbs};

/// One row for each request.
pub(crate) struct Requests;

impl Table for Requests {
    type Row = RequestRecord;
    const NAME: &'static str = "requests";
    const PRIORITY: Priority = Priority::Trace;

    fn columns() -> Vec<Field> {
        vec![
            required("request", DataType::UInt32, "id"),
            required("device", DataType::Utf8, "text"),
            required("sector", DataType::UInt64, "sectors"),
            required("bytes", DataType::UInt32, "bytes"),
            required("kind", DataType::Utf8, "text"),
            required("tid", DataType::UInt32, "id"),
            required("merges", DataType::UInt32, "count"),
            optional("queued_before_ns", DataType::Int64, "nanoseconds"),
            optional("got_before_ns", DataType::Int64, "nanoseconds"),
            optional("inserted_before_ns", DataType::Int64, "nanoseconds"),
            optional("issued_before_ns", DataType::Int64, "nanoseconds"),
            required("completed_ns", DataType::UInt64, "nanoseconds"),
            optional("errno", DataType::Int32, "errno"),
            required("throttled", DataType::Boolean, "flag"),
            required("in_flight", DataType::Utf8, "text"),
            required("overtaken_by", DataType::Utf8, "text"),
        ]
    }

    fn encode(rows: &[RequestRecord]) -> Vec<ArrayRef> {
        let before = |moment: fn(&RequestRecord) -> Option<u64>| {
            maybe_numbers::<Int64Type, _>(rows, |row| Some(row.completed_ns.wrapping_sub(moment(row)?) as i64))
        };
        vec![
            numbers::<UInt32Type, _>(rows, |row| row.request),
            written(rows, |row| &row.device, rwbs::write_device),
            numbers::<UInt64Type, _>(rows, |row| row.sector),
            numbers::<UInt32Type, _>(rows, |row| row.bytes),
            texts(rows, |row| rwbs::letters(row.kind)),
            numbers::<UInt32Type, _>(rows, |row| row.tid),
            numbers::<UInt32Type, _>(rows, |row| row.merges),
            before(|row| row.queued_ns),
            before(|row| row.got_ns),
            before(|row| row.inserted_ns),
            before(|row| row.issued_ns),
            numbers::<UInt64Type, _>(rows, |row| row.completed_ns),
            maybe_numbers::<Int32Type, _>(rows, |row| row.errno),
            flags(rows, |row| row.throttled),
            written(rows, |row| &row.in_flight, rwbs::write_counts),
            written(rows, |row| &row.overtaken_by, rwbs::write_counts),
        ]
    }

    fn decode(columns: &Columns<'_>) -> Result<Vec<RequestRecord>, ColumnError> {
        let (request, sector, bytes) = (columns.u32("request")?, columns.u64("sector")?, columns.u32("bytes")?);
        let (device, kind) = (columns.text("device")?, columns.text("kind")?);
        let (tid, merges) = (columns.u32("tid")?, columns.u32("merges")?);
        let (queued, got) = (columns.maybe_i64("queued_before_ns")?, columns.maybe_i64("got_before_ns")?);
        let (inserted, issued) = (columns.maybe_i64("inserted_before_ns")?, columns.maybe_i64("issued_before_ns")?);
        let (completed, errno) = (columns.u64("completed_ns")?, columns.maybe_i32("errno")?);
        let (throttled, in_flight) = (columns.flags("throttled")?, columns.text("in_flight")?);
        let overtaken_by = columns.text("overtaken_by")?;
        let row = |row| {
            let unknown = |name, text| ColumnError::new(name, format!("'{text}' is not known"));
            let counts = |name, text| rwbs::counts(text).ok_or_else(|| unknown(name, text));
            let completed_ns = completed.value(row);
            let moment = |before: Option<i64>| before.map(|before| completed_ns.wrapping_sub(before as u64));
            Ok(RequestRecord {
                request: request.value(row),
                device: rwbs::device(device.value(row)).ok_or_else(|| unknown("device", device.value(row)))?,
                sector: sector.value(row),
                bytes: bytes.value(row),
                kind: rwbs::kind(kind.value(row)).ok_or_else(|| unknown("kind", kind.value(row)))?,
                tid: tid.value(row),
                merges: merges.value(row),
                queued_ns: moment(queued.get(row)),
                got_ns: moment(got.get(row)),
                inserted_ns: moment(inserted.get(row)),
                issued_ns: moment(issued.get(row)),
                completed_ns,
                errno: errno.get(row),
                throttled: throttled.value(row),
                in_flight: counts("in_flight", in_flight.value(row))?,
                overtaken_by: counts("overtaken_by", overtaken_by.value(row))?,
            })
        };
        (0..columns.rows()).map(row).collect()
    }

    fn span_ns(row: &RequestRecord) -> Option<(u64, u64)> {
        Some((row.completed_ns, row.completed_ns))
    }

    fn weight(row: &RequestRecord) -> usize {
        let counts = size_of_val(row.in_flight.as_slice()) + size_of_val(row.overtaken_by.as_slice());
        size_of::<RequestRecord>() + counts
    }
}
