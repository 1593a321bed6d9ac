//! `operations`: slow, stuck and failed operations, one by one.

use arrow_array::ArrayRef;
use arrow_array::types::{Int32Type, UInt32Type, UInt64Type};
use arrow_schema::{DataType, Field};
use model::operation::{Fault, OperationKind, OperationRecord};

use super::column::{maybe_numbers, maybe_texts, numbers, optional, required, texts};
use super::{ColumnError, Columns, Priority, Table};

/// One row for each such operation; a stuck one may have several.
pub(crate) struct Operations;

impl Table for Operations {
    type Row = OperationRecord;
    const NAME: &'static str = "operations";
    const PRIORITY: Priority = Priority::Operations;

    fn columns() -> Vec<Field> {
        vec![
            required("kind", DataType::Utf8, "text"),
            required("class", DataType::Utf8, "text"),
            required("tid", DataType::UInt32, "id"),
            required("start_ns", DataType::UInt64, "nanoseconds"),
            required("duration_ns", DataType::UInt64, "nanoseconds"),
            optional("bytes", DataType::UInt64, "bytes"),
            optional("errno", DataType::Int32, "errno"),
            optional("path", DataType::Utf8, "text"),
            optional("offset_bytes", DataType::UInt64, "bytes"),
            optional("fault", DataType::Utf8, "text"),
        ]
    }

    fn encode(rows: &[OperationRecord]) -> Vec<ArrayRef> {
        vec![
            texts(rows, |row| row.kind.name()),
            texts(rows, |row| &row.class),
            numbers::<UInt32Type, _>(rows, |row| row.tid),
            numbers::<UInt64Type, _>(rows, |row| row.start_ns),
            numbers::<UInt64Type, _>(rows, |row| row.duration_ns),
            maybe_numbers::<UInt64Type, _>(rows, |row| row.bytes),
            maybe_numbers::<Int32Type, _>(rows, |row| row.errno),
            maybe_texts(rows, |row| row.path.as_deref()),
            maybe_numbers::<UInt64Type, _>(rows, |row| row.offset_bytes),
            maybe_texts(rows, |row| row.fault.map(Fault::name)),
        ]
    }

    fn decode(columns: &Columns<'_>) -> Result<Vec<OperationRecord>, ColumnError> {
        let (kind, class, tid) = (columns.text("kind")?, columns.text("class")?, columns.u32("tid")?);
        let (start, duration) = (columns.u64("start_ns")?, columns.u64("duration_ns")?);
        let (bytes, errno) = (columns.maybe_u64("bytes")?, columns.maybe_i32("errno")?);
        let path = columns.maybe_text("path")?;
        let (offset, fault) = (columns.later_u64("offset_bytes")?, columns.later_text("fault")?);
        let row = |row| {
            let unknown = || ColumnError::new("kind", format!("'{}' is not known", kind.value(row)));
            Ok(OperationRecord {
                kind: OperationKind::from_name(kind.value(row)).ok_or_else(unknown)?,
                class: class.value(row).to_owned(),
                tid: tid.value(row),
                start_ns: start.value(row),
                duration_ns: duration.value(row),
                bytes: bytes.get(row),
                errno: errno.get(row),
                path: path.get(row),
                offset_bytes: offset.as_ref().and_then(|offset| offset.get(row)),
                fault: fault.as_ref().and_then(|fault| fault.get(row)).as_deref().and_then(Fault::from_name),
            })
        };
        (0..columns.rows()).map(row).collect()
    }

    fn span_ns(row: &OperationRecord) -> Option<(u64, u64)> {
        Some((row.start_ns, row.start_ns.saturating_add(row.duration_ns)))
    }

    fn weight(row: &OperationRecord) -> usize {
        size_of::<OperationRecord>() + row.class.len() + row.path.as_ref().map_or(0, String::len)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::RecordBatch;
    use arrow_schema::Schema;
    use model::operation::{Fault, OperationKind, OperationRecord};

    use super::{Columns, Operations, Table};

    #[test]
    fn a_run_from_before_offsets_and_faults_were_kept_reads_without_them() {
        let record = OperationRecord {
            kind: OperationKind::Failed,
            class: "read".into(),
            tid: 7,
            start_ns: 1,
            duration_ns: 2,
            bytes: None,
            errno: Some(5),
            path: Some("/a".into()),
            offset_bytes: Some(4096),
            fault: Some(Fault::Torn),
        };
        let columns = Operations::encode(std::slice::from_ref(&record));
        let decoded = |fields: usize| {
            let schema = Arc::new(Schema::new(Operations::columns()[..fields].to_vec()));
            let batch = RecordBatch::try_new(schema, columns[..fields].to_vec()).unwrap();
            Operations::decode(&Columns(&batch)).unwrap().remove(0)
        };
        assert_eq!(decoded(columns.len()), record);
        assert_eq!(decoded(columns.len() - 2), OperationRecord { offset_bytes: None, fault: None, ..record.clone() });
    }
}
