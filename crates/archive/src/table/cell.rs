//! Cells: how a value of a record becomes a column's cell and a value again.

mod buckets;
mod detail;
mod list;
mod name;
mod number;
mod text;

use arrow_array::ArrayRef;
use arrow_schema::DataType;

use super::reader::{ColumnError, Columns};

pub(super) use buckets::{BucketCounts, BucketFloors, LatencyBuckets, RequestBuckets, joined};
pub(super) use detail::{DetailNames, DetailNumbers};
pub(super) use number::Later;

/// The type of a column. Most are the types of the records' fields.
pub(super) trait Cell {
    /// The field of the record.
    type Field;
    /// What is written of it.
    type Written<'a>;
    /// A column that is being read.
    type Opened<'a>;
    /// What is read.
    type Read<'a>;

    /// Whether a cell may be null.
    const NULLABLE: bool = false;
    /// Whether runs of older versions lack such columns.
    #[cfg(test)]
    const LATER: bool = false;

    /// The Arrow type.
    fn data_type() -> DataType;
    /// What is written of a field.
    fn of(field: &Self::Field) -> Self::Written<'_>;
    /// The column of these rows.
    fn write<'a, R>(rows: &'a [R], cell: impl Fn(&'a R) -> Self::Written<'a>) -> ArrayRef;
    /// Opens the column of that name.
    fn open<'a>(columns: &Columns<'a>, name: &'static str) -> Result<Self::Opened<'a>, ColumnError>;
    /// Reads the cell of a row.
    fn read<'a>(column: &Self::Opened<'a>, row: usize) -> Result<Self::Read<'a>, ColumnError>;
}
