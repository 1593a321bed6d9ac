//! Columns: declared with a unit, built from rows, found again by name.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{PrimitiveBuilder, StringBuilder};
use arrow_array::types::{ArrowPrimitiveType, Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, ListArray, PrimitiveArray, RecordBatch, StringArray, UInt64Array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};

/// A column is not what this program expects of the table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {name}: {problem}")]
pub(crate) struct ColumnError {
    name: String,
    problem: String,
}

impl ColumnError {
    /// An error about the column `name`.
    pub(crate) fn new(name: &str, problem: impl Into<String>) -> ColumnError {
        ColumnError { name: name.to_owned(), problem: problem.into() }
    }
}

/// Declares a column whose cells are never empty.
pub(crate) fn required(name: &str, data_type: DataType, unit: &str) -> Field {
    Field::new(name, data_type, false).with_metadata(HashMap::from([("unit".to_owned(), unit.to_owned())]))
}

/// Declares a column whose cells may be empty.
pub(crate) fn optional(name: &str, data_type: DataType, unit: &str) -> Field {
    required(name, data_type, unit).with_nullable(true)
}

/// The type of a column whose cells are lists of u64.
pub(crate) fn list_of_u64() -> DataType {
    DataType::List(list_item(DataType::UInt64))
}

/// The type of a column whose cells are lists of text.
pub(crate) fn list_of_text() -> DataType {
    DataType::List(list_item(DataType::Utf8))
}

fn list_item(data_type: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", data_type, false))
}

/// A column of whole numbers.
pub(crate) fn numbers<T: ArrowPrimitiveType, R>(rows: &[R], cell: impl Fn(&R) -> T::Native) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::from_iter_values(rows.iter().map(cell)))
}

/// A column of whole numbers, some absent.
pub(crate) fn maybe_numbers<T: ArrowPrimitiveType, R>(rows: &[R], cell: impl Fn(&R) -> Option<T::Native>) -> ArrayRef {
    let mut column = PrimitiveBuilder::<T>::with_capacity(rows.len());
    rows.iter().for_each(|row| column.append_option(cell(row)));
    Arc::new(column.finish())
}

/// A column of text.
pub(crate) fn texts<'a, R>(rows: &'a [R], cell: impl Fn(&'a R) -> &'a str) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(rows.iter().map(cell)))
}

/// A column of text, some absent.
pub(crate) fn maybe_texts<'a, R>(rows: &'a [R], cell: impl Fn(&'a R) -> Option<&'a str>) -> ArrayRef {
    Arc::new(rows.iter().map(cell).collect::<StringArray>())
}

/// A column of text that is written from each row's key; nothing is allocated for a row, and a key that comes again is
/// not written again.
pub(crate) fn written<R, K: PartialEq>(
    rows: &[R],
    key: impl Fn(&R) -> &K,
    mut write: impl FnMut(&K, &mut String),
) -> ArrayRef {
    let mut column = StringBuilder::with_capacity(rows.len(), rows.len());
    let mut cell = String::new();
    let mut last = None;
    for key in rows.iter().map(key) {
        if last != Some(key) {
            cell.clear();
            write(key, &mut cell);
            last = Some(key);
        }
        column.append_value(&cell);
    }
    Arc::new(column.finish())
}

/// A column of yes and no.
pub(crate) fn flags<R>(rows: &[R], cell: impl Fn(&R) -> bool) -> ArrayRef {
    Arc::new(rows.iter().map(|row| Some(cell(row))).collect::<BooleanArray>())
}

/// A column of lists of text.
pub(crate) fn text_lists<R>(rows: &[R], cell: impl Fn(&R) -> &[String]) -> ArrayRef {
    let items = Arc::new(StringArray::from_iter_values(rows.iter().flat_map(&cell)));
    let offsets = OffsetBuffer::from_lengths(rows.iter().map(|row| cell(row).len()));
    Arc::new(ListArray::new(list_item(DataType::Utf8), offsets, items, None))
}

/// A column of lists of u64: the lists' lengths, and all items one after another.
pub(crate) fn lists(lengths: impl Iterator<Item = usize>, items: impl Iterator<Item = u64>) -> ArrayRef {
    let items = Arc::new(UInt64Array::from_iter_values(items));
    Arc::new(ListArray::new(list_item(DataType::UInt64), OffsetBuffer::from_lengths(lengths), items, None))
}

/// The columns of a batch that was read.
pub(crate) struct Columns<'a>(pub(crate) &'a RecordBatch);

impl<'a> Columns<'a> {
    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.0.num_rows()
    }

    /// A column of u32 without empty cells.
    pub(crate) fn u32(&self, name: &str) -> Result<&'a PrimitiveArray<UInt32Type>, ColumnError> {
        self.full(name)
    }

    /// A column of u64 without empty cells.
    pub(crate) fn u64(&self, name: &str) -> Result<&'a PrimitiveArray<UInt64Type>, ColumnError> {
        self.full(name)
    }

    /// A column of i64 without empty cells.
    pub(crate) fn i64(&self, name: &str) -> Result<&'a PrimitiveArray<Int64Type>, ColumnError> {
        self.full(name)
    }

    /// A column of text without empty cells.
    pub(crate) fn text(&self, name: &str) -> Result<&'a StringArray, ColumnError> {
        self.full(name)
    }

    /// A column of lists of u64, none of them absent.
    pub(crate) fn lists(&self, name: &str) -> Result<U64Lists<'a>, ColumnError> {
        let lists: &ListArray = self.full(name)?;
        let items = lists.values().as_any().downcast_ref::<UInt64Array>();
        let items = items.ok_or_else(|| ColumnError::new(name, "its items are not u64"))?;
        Ok(U64Lists { lists, items })
    }

    /// A column of yes and no, without empty cells.
    pub(crate) fn flags(&self, name: &str) -> Result<&'a BooleanArray, ColumnError> {
        self.full(name)
    }

    /// A column of lists of text, none of them absent.
    pub(crate) fn text_lists(&self, name: &str) -> Result<TextLists<'a>, ColumnError> {
        let lists: &ListArray = self.full(name)?;
        let items = lists.values().as_any().downcast_ref::<StringArray>();
        let items = items.ok_or_else(|| ColumnError::new(name, "its items are not text"))?;
        Ok(TextLists { lists, items })
    }

    /// A column of u32, some absent.
    pub(crate) fn maybe_u32(&self, name: &str) -> Result<MaybeNumbers<'a, UInt32Type>, ColumnError> {
        self.of_type(name).map(MaybeNumbers)
    }

    /// A column of u64, some absent.
    pub(crate) fn maybe_u64(&self, name: &str) -> Result<MaybeNumbers<'a, UInt64Type>, ColumnError> {
        self.of_type(name).map(MaybeNumbers)
    }

    /// A column of u32 that came later than the format's first version: absent in every row of an older run.
    pub(crate) fn later_u32(&self, name: &str) -> Result<Option<MaybeNumbers<'a, UInt32Type>>, ColumnError> {
        self.0.column_by_name(name).map(|_| self.maybe_u32(name)).transpose()
    }

    /// A column of u64 that came later than the format's first version: absent in every row of an older run.
    pub(crate) fn later_u64(&self, name: &str) -> Result<Option<MaybeNumbers<'a, UInt64Type>>, ColumnError> {
        self.0.column_by_name(name).map(|_| self.maybe_u64(name)).transpose()
    }

    /// A column of text that came later than the format's first version.
    pub(crate) fn later_text(&self, name: &str) -> Result<Option<MaybeTexts<'a>>, ColumnError> {
        self.0.column_by_name(name).map(|_| self.maybe_text(name)).transpose()
    }

    /// A column of i64, some absent.
    pub(crate) fn maybe_i64(&self, name: &str) -> Result<MaybeNumbers<'a, Int64Type>, ColumnError> {
        self.of_type(name).map(MaybeNumbers)
    }

    /// A column of i32, some absent.
    pub(crate) fn maybe_i32(&self, name: &str) -> Result<MaybeNumbers<'a, Int32Type>, ColumnError> {
        self.of_type(name).map(MaybeNumbers)
    }

    /// A column of text, some absent.
    pub(crate) fn maybe_text(&self, name: &str) -> Result<MaybeTexts<'a>, ColumnError> {
        self.of_type(name).map(MaybeTexts)
    }

    fn full<A: Array + 'static>(&self, name: &str) -> Result<&'a A, ColumnError> {
        let column: &A = self.of_type(name)?;
        if column.null_count() > 0 {
            return Err(ColumnError::new(name, "has empty cells"));
        }
        Ok(column)
    }

    fn of_type<A: Array + 'static>(&self, name: &str) -> Result<&'a A, ColumnError> {
        let column = self.0.column_by_name(name).ok_or_else(|| ColumnError::new(name, "is missing"))?;
        let problem = || format!("has the unexpected type {}", column.data_type());
        column.as_any().downcast_ref().ok_or_else(|| ColumnError::new(name, problem()))
    }
}

/// A column of numbers, some absent.
pub(crate) struct MaybeNumbers<'a, T: ArrowPrimitiveType>(&'a PrimitiveArray<T>);

impl<T: ArrowPrimitiveType> MaybeNumbers<'_, T> {
    /// The cell of a row.
    pub(crate) fn get(&self, row: usize) -> Option<T::Native> {
        self.0.is_valid(row).then(|| self.0.value(row))
    }
}

/// A column of text, some absent.
pub(crate) struct MaybeTexts<'a>(&'a StringArray);

impl MaybeTexts<'_> {
    /// The cell of a row.
    pub(crate) fn get(&self, row: usize) -> Option<String> {
        self.0.is_valid(row).then(|| self.0.value(row).to_owned())
    }
}

/// A column of lists of text.
pub(crate) struct TextLists<'a> {
    lists: &'a ListArray,
    items: &'a StringArray,
}

impl TextLists<'_> {
    /// The list of a row.
    pub(crate) fn get(&self, row: usize) -> Vec<String> {
        let offsets = self.lists.value_offsets();
        (offsets[row] as usize..offsets[row + 1] as usize).map(|item| self.items.value(item).to_owned()).collect()
    }
}

/// A column of lists of u64.
pub(crate) struct U64Lists<'a> {
    lists: &'a ListArray,
    items: &'a UInt64Array,
}

impl<'a> U64Lists<'a> {
    /// The list of a row.
    pub(crate) fn get(&self, row: usize) -> &'a [u64] {
        let offsets = self.lists.value_offsets();
        &self.items.values()[offsets[row] as usize..offsets[row + 1] as usize]
    }
}
