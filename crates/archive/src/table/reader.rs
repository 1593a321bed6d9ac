//! The columns of a batch that is read, found by name.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ListArray, RecordBatch, StringArray};
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

/// The columns of a batch that was read.
pub(crate) struct Columns<'a>(pub(crate) &'a RecordBatch);

impl<'a> Columns<'a> {
    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.0.num_rows()
    }

    /// Whether the batch has the column.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.column_by_name(name).is_some()
    }

    /// A column of text without nulls.
    pub(super) fn texts(&self, name: &'static str) -> Result<Texts<'a>, ColumnError> {
        Ok(Texts { name, cells: self.without_nulls(name)? })
    }

    /// A column of lists, none of them null.
    pub(super) fn lists<A: Array + 'static>(&self, name: &str) -> Result<Lists<'a, A>, ColumnError> {
        let lists: &ListArray = self.without_nulls(name)?;
        let problem = || format!("has items of the unexpected type {}", lists.value_type());
        let items = lists.values().as_any().downcast_ref();
        Ok(Lists { lists, items: items.ok_or_else(|| ColumnError::new(name, problem()))? })
    }

    /// A column without nulls.
    pub(super) fn without_nulls<A: Array + 'static>(&self, name: &str) -> Result<&'a A, ColumnError> {
        let column: &A = self.of_type(name)?;
        if column.null_count() > 0 {
            return Err(ColumnError::new(name, "has empty cells"));
        }
        Ok(column)
    }

    /// A column of that type.
    pub(super) fn of_type<A: Array + 'static>(&self, name: &str) -> Result<&'a A, ColumnError> {
        let column = self.0.column_by_name(name).ok_or_else(|| ColumnError::new(name, "is missing"))?;
        let problem = || format!("has the unexpected type {}", column.data_type());
        column.as_any().downcast_ref().ok_or_else(|| ColumnError::new(name, problem()))
    }
}

/// A column of text without nulls, whose cells stand for something else.
pub(super) struct Texts<'a> {
    name: &'static str,
    cells: &'a StringArray,
}

impl Texts<'_> {
    /// What a row's cell stands for.
    pub(super) fn parsed<T>(&self, row: usize, parse: impl Fn(&str) -> Option<T>) -> Result<T, ColumnError> {
        let text = self.cells.value(row);
        parse(text).ok_or_else(|| ColumnError::new(self.name, format!("'{text}' is not known")))
    }
}

/// A column of lists.
pub(super) struct Lists<'a, A> {
    lists: &'a ListArray,
    /// The items of all lists, one after another.
    pub(super) items: &'a A,
}

impl<A> Lists<'_, A> {
    /// The items of a row's list.
    pub(super) fn range(&self, row: usize) -> Range<usize> {
        let offsets = self.lists.value_offsets();
        offsets[row] as usize..offsets[row + 1] as usize
    }
}

/// The items of a list: never null.
pub(super) fn list_item(data_type: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", data_type, false))
}
