//! `stalls`: time that tasks were seen to lose.

use arrow_array::ArrayRef;
use arrow_array::types::{Int32Type, UInt32Type, UInt64Type};
use arrow_schema::{DataType, Field};
use model::stall::{StallKind, StallRecord};

use super::column::{maybe_numbers, maybe_texts, numbers, optional, required, texts};
use super::{ColumnError, Columns, Priority, Table};

/// One row for each slow system call, wait and span, and for each sum of short ones.
pub(crate) struct Stalls;

impl Table for Stalls {
    type Row = StallRecord;
    const NAME: &'static str = "stalls";
    const PRIORITY: Priority = Priority::Trace;

    fn columns() -> Vec<Field> {
        vec![
            required("kind", DataType::Utf8, "text"),
            required("tid", DataType::UInt32, "id"),
            required("start_ns", DataType::UInt64, "nanoseconds"),
            required("duration_ns", DataType::UInt64, "nanoseconds"),
            required("busy_ns", DataType::UInt64, "nanoseconds"),
            required("count", DataType::UInt64, "count"),
            optional("state", DataType::UInt32, "flags"),
            optional("woken_ns", DataType::UInt64, "nanoseconds"),
            optional("waker_tid", DataType::UInt32, "id"),
            optional("stack", DataType::UInt32, "id"),
            optional("waker_stack", DataType::UInt32, "id"),
            optional("request", DataType::UInt32, "id"),
            optional("tracepoint", DataType::Utf8, "text"),
            optional("detail", DataType::Utf8, "text"),
            optional("call", DataType::Utf8, "text"),
            optional("path", DataType::Utf8, "text"),
            optional("bytes", DataType::UInt64, "bytes"),
            optional("errno", DataType::Int32, "errno"),
            optional("behind_tid", DataType::UInt32, "id"),
        ]
    }

    fn encode(rows: &[StallRecord]) -> Vec<ArrayRef> {
        vec![
            texts(rows, |row| row.kind.name()),
            numbers::<UInt32Type, _>(rows, |row| row.tid),
            numbers::<UInt64Type, _>(rows, |row| row.start_ns),
            numbers::<UInt64Type, _>(rows, |row| row.duration_ns),
            numbers::<UInt64Type, _>(rows, |row| row.busy_ns),
            numbers::<UInt64Type, _>(rows, |row| row.count),
            maybe_numbers::<UInt32Type, _>(rows, |row| row.state),
            maybe_numbers::<UInt64Type, _>(rows, |row| row.woken_ns),
            maybe_numbers::<UInt32Type, _>(rows, |row| row.waker_tid),
            maybe_numbers::<UInt32Type, _>(rows, |row| row.stack),
            maybe_numbers::<UInt32Type, _>(rows, |row| row.waker_stack),
            maybe_numbers::<UInt32Type, _>(rows, |row| row.request),
            maybe_texts(rows, |row| row.tracepoint.as_deref()),
            maybe_texts(rows, |row| row.detail.as_deref()),
            maybe_texts(rows, |row| row.call.as_deref()),
            maybe_texts(rows, |row| row.path.as_deref()),
            maybe_numbers::<UInt64Type, _>(rows, |row| row.bytes),
            maybe_numbers::<Int32Type, _>(rows, |row| row.errno),
            maybe_numbers::<UInt32Type, _>(rows, |row| row.behind_tid),
        ]
    }

    fn decode(columns: &Columns<'_>) -> Result<Vec<StallRecord>, ColumnError> {
        let (kind, tid, start) = (columns.text("kind")?, columns.u32("tid")?, columns.u64("start_ns")?);
        let (duration, busy, count) = (columns.u64("duration_ns")?, columns.u64("busy_ns")?, columns.u64("count")?);
        let (state, woken) = (columns.maybe_u32("state")?, columns.maybe_u64("woken_ns")?);
        let (waker_tid, request) = (columns.maybe_u32("waker_tid")?, columns.maybe_u32("request")?);
        let (stack, waker_stack) = (columns.maybe_u32("stack")?, columns.maybe_u32("waker_stack")?);
        let (tracepoint, detail) = (columns.maybe_text("tracepoint")?, columns.maybe_text("detail")?);
        let (call, path) = (columns.maybe_text("call")?, columns.maybe_text("path")?);
        let (bytes, errno) = (columns.maybe_u64("bytes")?, columns.maybe_i32("errno")?);
        let behind_tid = columns.later_u32("behind_tid")?;
        let row = |row| {
            let unknown = || ColumnError::new("kind", format!("'{}' is not known", kind.value(row)));
            Ok(StallRecord {
                kind: StallKind::from_name(kind.value(row)).ok_or_else(unknown)?,
                tid: tid.value(row),
                start_ns: start.value(row),
                duration_ns: duration.value(row),
                busy_ns: busy.value(row),
                count: count.value(row),
                state: state.get(row),
                woken_ns: woken.get(row),
                waker_tid: waker_tid.get(row),
                stack: stack.get(row),
                waker_stack: waker_stack.get(row),
                request: request.get(row),
                tracepoint: tracepoint.get(row),
                detail: detail.get(row),
                call: call.get(row),
                path: path.get(row),
                bytes: bytes.get(row),
                errno: errno.get(row),
                behind_tid: behind_tid.as_ref().and_then(|behind_tid| behind_tid.get(row)),
            })
        };
        (0..columns.rows()).map(row).collect()
    }

    fn span_ns(row: &StallRecord) -> Option<(u64, u64)> {
        Some((row.start_ns, row.end_ns()))
    }

    fn weight(row: &StallRecord) -> usize {
        let texts = [&row.tracepoint, &row.detail, &row.call, &row.path].into_iter().flatten().map(String::len);
        size_of::<StallRecord>() + texts.sum::<usize>()
    }
}
