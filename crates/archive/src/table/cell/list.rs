//! Lists of text, and of numbers.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, ListArray, StringArray, UInt32Array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::DataType;

use super::Cell;
use crate::table::reader::{ColumnError, Columns, Lists, list_item};

/// What a list may hold.
pub(in crate::table) trait Item: Sized + 'static {
    /// All items of a column, one after another.
    type Items: Array + 'static;

    /// The Arrow type of an item.
    const DATA_TYPE: DataType;

    /// The items as an array.
    fn gather<'a>(items: impl Iterator<Item = &'a Self>) -> Self::Items;
    /// Reads an item.
    fn read(items: &Self::Items, at: usize) -> Self;
}

impl Item for String {
    type Items = StringArray;

    const DATA_TYPE: DataType = DataType::Utf8;

    fn gather<'a>(items: impl Iterator<Item = &'a String>) -> StringArray {
        StringArray::from_iter_values(items)
    }

    fn read(items: &StringArray, at: usize) -> String {
        items.value(at).to_owned()
    }
}

impl Item for u32 {
    type Items = UInt32Array;

    const DATA_TYPE: DataType = DataType::UInt32;

    fn gather<'a>(items: impl Iterator<Item = &'a u32>) -> UInt32Array {
        UInt32Array::from_iter_values(items.copied())
    }

    fn read(items: &UInt32Array, at: usize) -> u32 {
        items.value(at)
    }
}

impl<T: Item> Cell for Vec<T> {
    type Field = Vec<T>;
    type Written<'a> = &'a [T];
    type Opened<'a> = Lists<'a, T::Items>;
    type Read<'a> = Vec<T>;

    fn data_type() -> DataType {
        DataType::List(list_item(T::DATA_TYPE))
    }

    fn of(field: &Vec<T>) -> &[T] {
        field
    }

    fn write<'a, R>(rows: &'a [R], cell: impl Fn(&'a R) -> &'a [T]) -> ArrayRef {
        let items = Arc::new(T::gather(rows.iter().flat_map(&cell)));
        let offsets = OffsetBuffer::from_lengths(rows.iter().map(|row| cell(row).len()));
        Arc::new(ListArray::new(list_item(T::DATA_TYPE), offsets, items, None))
    }

    fn open<'a>(columns: &Columns<'a>, name: &'static str) -> Result<Self::Opened<'a>, ColumnError> {
        columns.lists(name)
    }

    fn read<'a>(column: &Self::Opened<'a>, row: usize) -> Result<Self::Read<'a>, ColumnError> {
        Ok(column.range(row).map(|at| T::read(column.items, at)).collect())
    }
}
