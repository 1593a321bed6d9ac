//! `operations`: slow, stuck and failed operations, recorded individually.

use arrow_array::ArrayRef;
use model::operation::{Fault, OperationKind, OperationRecord};

use super::cell::{Cell, Later};
use super::declare::columns;
use super::definition::{Column, Priority, Table};
use super::reader::{ColumnError, Columns};

/// One row for each such operation; a stuck one may have several.
pub(crate) struct OperationTable;

impl Table for OperationTable {
    type Row = OperationRecord;
    const NAME: &'static str = "operations";
    const PRIORITY: Priority = Priority::Operations;

    columns! { OperationRecord;
        /// `slow`, `stuck` (then `duration_ns` is its age) or `failed`
        kind: OperationKind, "text";
        /// operation class
        class: String, "text";
        /// kernel thread
        tid: u32, "id";
        /// start
        start_ns: u64, "nanoseconds";
        /// from start to end
        duration_ns: u64, "nanoseconds";
        /// moved
        bytes: Option<u64>, "bytes";
        /// of the failure
        errno: Option<i32>, "errno";
        /// file that it worked on
        path: Option<String>, "text";
        /// where in the file
        offset_bytes: Later<u64>, "bytes";
        /// fault without an error number: `short_read` `short_write` `wrong` (data that this load never wrote there)
        /// `torn` `stale` (an older write) `misplaced` (the block belongs elsewhere)
        fault: Later<Fault>, "text";
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

    use super::{Columns, OperationTable, Table};
    use crate::table::definition::schema;

    #[test]
    fn an_older_run_reads_without_offsets_and_faults() {
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
        let columns = OperationTable::encode(std::slice::from_ref(&record));
        let decoded = |fields: usize| {
            let schema = Arc::new(Schema::new(schema::<OperationTable>().fields()[..fields].to_vec()));
            let batch = RecordBatch::try_new(schema, columns[..fields].to_vec()).unwrap();
            OperationTable::decode(&Columns(&batch)).unwrap().remove(0)
        };
        assert_eq!(decoded(columns.len()), record);
        assert_eq!(decoded(columns.len() - 2), OperationRecord { offset_bytes: None, fault: None, ..record.clone() });
    }
}
