//! Lists of text.

use std::sync::Arc;

use arrow_array::{ArrayRef, ListArray, StringArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::DataType;

use super::Cell;
use crate::table::reader::{ColumnError, Columns, Lists, list_item};

impl Cell for Vec<String> {
    type Field = Vec<String>;
    type Written<'a> = &'a [String];
    type Opened<'a> = Lists<'a, StringArray>;
    type Read<'a> = Vec<String>;

    fn data_type() -> DataType {
        DataType::List(list_item(DataType::Utf8))
    }

    fn of(field: &Vec<String>) -> &[String] {
        field
    }

    fn write<'a, R>(rows: &'a [R], cell: impl Fn(&'a R) -> &'a [String]) -> ArrayRef {
        let items = Arc::new(StringArray::from_iter_values(rows.iter().flat_map(&cell)));
        let offsets = OffsetBuffer::from_lengths(rows.iter().map(|row| cell(row).len()));
        Arc::new(ListArray::new(list_item(DataType::Utf8), offsets, items, None))
    }

    fn open<'a>(columns: &Columns<'a>, name: &'static str) -> Result<Self::Opened<'a>, ColumnError> {
        columns.lists(name)
    }

    fn read<'a>(column: &Self::Opened<'a>, row: usize) -> Result<Self::Read<'a>, ColumnError> {
        Ok(column.range(row).map(|item| column.items.value(item).to_owned()).collect())
    }
}
