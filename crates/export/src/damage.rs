//! What of a run is damaged or missing, as a table.

use std::io;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Schema};
use model::damage::Damage;

use crate::column::column;

/// The table's name.
pub const DAMAGE: &str = "damage";

/// One row for each damaged part; none for a whole run. An open end of time is absent.
pub fn table(damage: &[Damage]) -> io::Result<RecordBatch> {
    let number =
        |of: fn(&Damage) -> Option<u64>| -> ArrayRef { Arc::new(damage.iter().map(of).collect::<UInt64Array>()) };
    let text =
        |of: fn(&Damage) -> Option<&str>| -> ArrayRef { Arc::new(damage.iter().map(of).collect::<StringArray>()) };
    let schema = Schema::new(vec![
        column("file", DataType::Utf8, "text", false),
        column("table", DataType::Utf8, "text", true),
        column("offset", DataType::UInt64, "bytes", true),
        column("bytes", DataType::UInt64, "bytes", true),
        column("rows", DataType::UInt64, "count", true),
        column("from_ns", DataType::UInt64, "nanoseconds", true),
        column("to_ns", DataType::UInt64, "nanoseconds", true),
        column("why", DataType::Utf8, "text", false),
    ]);
    let columns = vec![
        text(|damage| Some(&damage.file)),
        text(|damage| damage.table.as_deref()),
        number(|damage| damage.offset),
        number(|damage| damage.bytes),
        number(|damage| damage.rows),
        number(|damage| damage.span_ns.map(|(from_ns, _)| from_ns)),
        number(|damage| damage.span_ns.map(|(_, to_ns)| to_ns).filter(|to_ns| *to_ns != u64::MAX)),
        text(|damage| Some(&damage.why)),
    ];
    RecordBatch::try_new(Arc::new(schema), columns).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use model::damage::Damage;

    use super::table;

    #[test]
    fn an_open_end_is_absent() {
        assert_eq!(table(&[]).unwrap().num_rows(), 0);
        let damage = Damage { span_ns: Some((5, u64::MAX)), ..Damage::of_file("journal", "missing: entry 3") };
        let table = table(&[damage]).unwrap();
        let is_null: Vec<bool> = table.columns().iter().map(|column| column.is_null(0)).collect();
        assert_eq!(is_null, [false, true, true, true, true, false, true, false]);
    }
}
