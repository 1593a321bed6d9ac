//! The parts of a stall's detail: its type, device, numbers and names are columns. They are written without an
//! allocation per row.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, StringArray, UInt64Array};
use arrow_schema::DataType;
use model::detail::Detail;

use super::Cell;
use crate::table::reader::{ColumnError, Columns, Lists, list_item};

/// The numbers of a detail; none in every row of an older run.
pub(in crate::table) struct DetailNumbers;

/// The names of a detail; none in every row of an older run, which lacks the column: `None`.
pub(in crate::table) struct DetailNames;

impl Cell for DetailNumbers {
    type Field = Option<Detail>;
    type Written<'a> = Option<&'a Detail>;
    type Opened<'a> = Option<Lists<'a, UInt64Array>>;
    type Read<'a> = Vec<u64>;

    #[cfg(test)]
    const LATER: bool = true;

    fn data_type() -> DataType {
        DataType::List(list_item(DataType::UInt64))
    }

    fn of(field: &Option<Detail>) -> Option<&Detail> {
        field.as_ref()
    }

    fn write<'a, R>(rows: &'a [R], cell: impl Fn(&'a R) -> Option<&'a Detail>) -> ArrayRef {
        let mut column = ListBuilder::new(UInt64Builder::new()).with_field(list_item(DataType::UInt64));
        for detail in rows.iter().map(cell) {
            detail.into_iter().for_each(|detail| column.values().append_slice(&detail.numbers()));
            column.append(true);
        }
        Arc::new(column.finish())
    }

    fn open<'a>(columns: &Columns<'a>, name: &'static str) -> Result<Self::Opened<'a>, ColumnError> {
        columns.has(name).then(|| columns.lists(name)).transpose()
    }

    fn read<'a>(column: &Self::Opened<'a>, row: usize) -> Result<Self::Read<'a>, ColumnError> {
        let Some(lists) = column else { return Ok(Vec::new()) };
        Ok(lists.items.values()[lists.range(row)].to_vec())
    }
}

impl Cell for DetailNames {
    type Field = Option<Detail>;
    type Written<'a> = Option<&'a Detail>;
    type Opened<'a> = Option<Lists<'a, StringArray>>;
    type Read<'a> = Option<Vec<String>>;

    #[cfg(test)]
    const LATER: bool = true;

    fn data_type() -> DataType {
        DataType::List(list_item(DataType::Utf8))
    }

    fn of(field: &Option<Detail>) -> Option<&Detail> {
        field.as_ref()
    }

    fn write<'a, R>(rows: &'a [R], cell: impl Fn(&'a R) -> Option<&'a Detail>) -> ArrayRef {
        let mut column = ListBuilder::new(StringBuilder::new()).with_field(list_item(DataType::Utf8));
        for detail in rows.iter().map(cell) {
            let names = detail.map(Detail::names).unwrap_or_default();
            names.iter().for_each(|name| column.values().append_value(name));
            column.append(true);
        }
        Arc::new(column.finish())
    }

    fn open<'a>(columns: &Columns<'a>, name: &'static str) -> Result<Self::Opened<'a>, ColumnError> {
        columns.has(name).then(|| columns.lists(name)).transpose()
    }

    fn read<'a>(column: &Self::Opened<'a>, row: usize) -> Result<Self::Read<'a>, ColumnError> {
        let Some(lists) = column else { return Ok(None) };
        Ok(Some(lists.range(row).map(|at| lists.items.value(at).to_owned()).collect()))
    }
}
