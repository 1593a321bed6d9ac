//! Lists of text, and of numbers.

use std::sync::Arc;

use arrow_array::{ArrayRef, ListArray, StringArray, UInt32Array};
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

impl Cell for Vec<u32> {
    type Field = Vec<u32>;
    type Written<'a> = &'a [u32];
    type Opened<'a> = Lists<'a, UInt32Array>;
    type Read<'a> = Vec<u32>;

    fn data_type() -> DataType {
        DataType::List(list_item(DataType::UInt32))
    }

    fn of(field: &Vec<u32>) -> &[u32] {
        field
    }

    fn write<'a, R>(rows: &'a [R], cell: impl Fn(&'a R) -> &'a [u32]) -> ArrayRef {
        let items = Arc::new(UInt32Array::from_iter_values(rows.iter().flat_map(&cell).copied()));
        let offsets = OffsetBuffer::from_lengths(rows.iter().map(|row| cell(row).len()));
        Arc::new(ListArray::new(list_item(DataType::UInt32), offsets, items, None))
    }

    fn open<'a>(columns: &Columns<'a>, name: &'static str) -> Result<Self::Opened<'a>, ColumnError> {
        columns.lists(name)
    }

    fn read<'a>(column: &Self::Opened<'a>, row: usize) -> Result<Self::Read<'a>, ColumnError> {
        Ok(column.items.values()[column.range(row)].to_vec())
    }
}
