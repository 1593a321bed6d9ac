//! Text: as it is, some absent, and text that is formatted from a value.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::DataType;
use model::block::DeviceNumber;
use model::stall::KindCounts;

use super::Cell;
use crate::table::reader::{ColumnError, Columns, Texts};
use crate::table::rwbs;

impl Cell for String {
    type Field = String;
    type Written<'a> = &'a str;
    type Opened<'a> = &'a StringArray;
    type Read<'a> = String;

    fn data_type() -> DataType {
        DataType::Utf8
    }

    fn of(field: &String) -> &str {
        field
    }

    fn write<'a, R>(rows: &'a [R], cell: impl Fn(&'a R) -> &'a str) -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(cell)))
    }

    fn open<'a>(columns: &Columns<'a>, name: &'static str) -> Result<Self::Opened<'a>, ColumnError> {
        columns.without_nulls(name)
    }

    fn read<'a>(column: &Self::Opened<'a>, row: usize) -> Result<Self::Read<'a>, ColumnError> {
        Ok(column.value(row).to_owned())
    }
}

impl Cell for Option<String> {
    type Field = Option<String>;
    type Written<'a> = Option<&'a str>;
    type Opened<'a> = &'a StringArray;
    type Read<'a> = Option<String>;

    const NULLABLE: bool = true;

    fn data_type() -> DataType {
        DataType::Utf8
    }

    fn of(field: &Option<String>) -> Option<&str> {
        field.as_deref()
    }

    fn write<'a, R>(rows: &'a [R], cell: impl Fn(&'a R) -> Option<&'a str>) -> ArrayRef {
        Arc::new(rows.iter().map(cell).collect::<StringArray>())
    }

    fn open<'a>(columns: &Columns<'a>, name: &'static str) -> Result<Self::Opened<'a>, ColumnError> {
        columns.of_type(name)
    }

    fn read<'a>(column: &Self::Opened<'a>, row: usize) -> Result<Self::Read<'a>, ColumnError> {
        Ok(column.is_valid(row).then(|| column.value(row).to_owned()))
    }
}

/// Stores values as text that is formatted from them, and parsed.
macro_rules! stored_as_text {
    ($($value:ty: $format:expr, $parse:expr;)+) => {$(
        impl Cell for $value {
            type Field = $value;
            type Written<'a> = &'a $value;
            type Opened<'a> = Texts<'a>;
            type Read<'a> = $value;

            fn data_type() -> DataType {
                DataType::Utf8
            }

            fn of(field: &$value) -> &$value {
                field
            }

            fn write<'a, R>(rows: &'a [R], cell: impl Fn(&'a R) -> &'a $value) -> ArrayRef {
                formatted(rows, cell, $format)
            }

            fn open<'a>(columns: &Columns<'a>, name: &'static str) -> Result<Texts<'a>, ColumnError> {
                columns.texts(name)
            }

            fn read<'a>(column: &Self::Opened<'a>, row: usize) -> Result<Self::Read<'a>, ColumnError> {
                column.parsed(row, $parse)
            }
        }
    )+};
}

stored_as_text! {
    DeviceNumber: rwbs::write_device, rwbs::device;
    KindCounts: rwbs::write_counts, rwbs::counts;
}

impl Cell for Option<DeviceNumber> {
    type Field = Option<DeviceNumber>;
    type Written<'a> = Option<DeviceNumber>;
    type Opened<'a> = &'a StringArray;
    type Read<'a> = Option<DeviceNumber>;

    const NULLABLE: bool = true;

    fn data_type() -> DataType {
        DataType::Utf8
    }

    fn of(field: &Option<DeviceNumber>) -> Option<DeviceNumber> {
        *field
    }

    fn write<'a, R>(rows: &'a [R], cell: impl Fn(&'a R) -> Option<DeviceNumber>) -> ArrayRef {
        Arc::new(rows.iter().map(|row| cell(row).map(|device| device.to_string())).collect::<StringArray>())
    }

    fn open<'a>(columns: &Columns<'a>, name: &'static str) -> Result<Self::Opened<'a>, ColumnError> {
        columns.of_type(name)
    }

    fn read<'a>(column: &Self::Opened<'a>, row: usize) -> Result<Self::Read<'a>, ColumnError> {
        Ok(column.is_valid(row).then(|| column.value(row)).and_then(rwbs::device))
    }
}

/// A column of text that is formatted from each row's value. Nothing is allocated for a row, and a value that repeats
/// is not formatted again.
fn formatted<'a, R, V: PartialEq + 'a>(
    rows: &'a [R],
    value: impl Fn(&'a R) -> &'a V,
    mut format: impl FnMut(&V, &mut String),
) -> ArrayRef {
    let mut column = StringBuilder::with_capacity(rows.len(), rows.len());
    let mut cell = String::new();
    let mut last = None;
    for value in rows.iter().map(value) {
        if last != Some(value) {
            cell.clear();
            format(value, &mut cell);
            last = Some(value);
        }
        column.append_value(&cell);
    }
    Arc::new(column.finish())
}
