//! What a table is: its columns, its rows as Arrow batches, and when it is given up.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use model::run::FORMAT_VERSION;

use super::reader::{ColumnError, Columns};

/// What is given up first when the disk is full: the least comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Priority {
    /// The tracer's rows: by far the most.
    Trace,
    /// Slow, stuck and failed operations, recorded individually.
    Operations,
    /// Operations summed by interval.
    Intervals,
    /// Samples, and what is needed to read them.
    Metrics,
}

/// A column of a table.
pub(crate) struct Column {
    /// The name in the schema.
    pub(crate) name: &'static str,
    /// The Arrow type of its cells.
    pub(crate) data_type: fn() -> DataType,
    /// Whether a cell may be null.
    pub(crate) nullable: bool,
    /// The unit of its cells.
    pub(crate) unit: &'static str,
    /// Whether runs of older versions lack the column.
    #[cfg(test)]
    pub(crate) later: bool,
    /// What it means, for docs/FORMAT.md.
    #[cfg(test)]
    pub(crate) doc: &'static str,
}

impl Column {
    fn field(&self) -> Field {
        let metadata = HashMap::from([("unit".to_owned(), self.unit.to_owned())]);
        Field::new(self.name, (self.data_type)(), self.nullable).with_metadata(metadata)
    }
}

/// A kind of row, and the columns that it is stored in. [`columns!`](super::columns) declares the columns and with them
/// their schema, [`Table::encode`] and [`Table::decode`].
pub(crate) trait Table {
    /// The row in memory.
    type Row;
    /// Name of the table and beginning of its files' names.
    const NAME: &'static str;
    /// When it is given up.
    const PRIORITY: Priority;
    /// The columns. A later version may add columns but never changes what one means.
    const COLUMNS: &'static [Column];

    /// The rows' columns, in the order of [`Table::COLUMNS`].
    fn encode(rows: &[Self::Row]) -> Vec<ArrayRef>;

    /// The rows of a batch. Columns are found by name, unknown ones ignored.
    fn decode(columns: &Columns<'_>) -> Result<Vec<Self::Row>, ColumnError>;

    /// Puts the rows of many flushes into the order that compresses best.
    fn arrange(_rows: &mut [Self::Row]) {}

    /// The time that a row covers, on the monotonic clock; `None` for a row without a time.
    fn span_ns(_row: &Self::Row) -> Option<(u64, u64)> {
        None
    }

    /// Memory that a row takes.
    fn weight(_row: &Self::Row) -> usize {
        size_of::<Self::Row>()
    }
}

/// The Arrow schema of a table.
pub(crate) fn schema<T: Table>() -> SchemaRef {
    let metadata = [("stallscope.table", T::NAME.to_owned()), ("stallscope.format", FORMAT_VERSION.to_string())];
    let metadata = metadata.map(|(key, value)| (key.to_owned(), value));
    let fields: Vec<Field> = T::COLUMNS.iter().map(Column::field).collect();
    Arc::new(Schema::new_with_metadata(fields, HashMap::from(metadata)))
}

/// Rows as one Arrow batch.
pub(crate) fn batch<T: Table>(schema: &SchemaRef, rows: &[T::Row]) -> RecordBatch {
    RecordBatch::try_new(schema.clone(), T::encode(rows)).expect("encode gives the declared columns")
}
