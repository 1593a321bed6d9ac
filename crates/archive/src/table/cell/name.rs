//! Enumerations, stored by name.

use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::DataType;
use model::block::Kind;
use model::metric::{Semantics, Unit};
use model::operation::{Fault, OperationKind};
use model::stall::{Awaits, StallKind};
use model::usage::Resource;

use super::Cell;
use crate::table::reader::{ColumnError, Columns, Texts};
use crate::table::rwbs;

/// Stores values by their name. A name that this program does not know makes the batch unreadable.
macro_rules! stored_by_name {
    ($($value:ty: $name:expr, $from_name:expr;)+) => {$(
        impl Cell for $value {
            type Field = $value;
            type Written<'a> = &'a str;
            type Opened<'a> = Texts<'a>;
            type Read<'a> = $value;

            fn data_type() -> DataType {
                DataType::Utf8
            }

            fn of(field: &$value) -> &str {
                $name(*field)
            }

            fn write<'a, R>(rows: &'a [R], cell: impl Fn(&'a R) -> &'a str) -> ArrayRef {
                String::write(rows, cell)
            }

            fn open<'a>(columns: &Columns<'a>, name: &'static str) -> Result<Texts<'a>, ColumnError> {
                columns.texts(name)
            }

            fn read<'a>(column: &Self::Opened<'a>, row: usize) -> Result<Self::Read<'a>, ColumnError> {
                column.parsed(row, $from_name)
            }
        }
    )+};
}

stored_by_name! {
    Kind: rwbs::letters, rwbs::kind;
    OperationKind: OperationKind::name, OperationKind::from_name;
    Resource: Resource::name, Resource::from_name;
    Semantics: Semantics::name, Semantics::from_name;
    StallKind: StallKind::name, StallKind::from_name;
    Unit: Unit::name, Unit::from_name;
}

/// The same for values that may be absent. A name that this program does not know reads as absent.
macro_rules! stored_by_name_if_any {
    ($($value:ty: $name:expr, $from_name:expr;)+) => {$(
        impl Cell for Option<$value> {
            type Field = Option<$value>;
            type Written<'a> = Option<&'a str>;
            type Opened<'a> = &'a StringArray;
            type Read<'a> = Option<$value>;

            const NULLABLE: bool = true;

            fn data_type() -> DataType {
                DataType::Utf8
            }

            fn of(field: &Option<$value>) -> Option<&str> {
                field.map($name)
            }

            fn write<'a, R>(rows: &'a [R], cell: impl Fn(&'a R) -> Option<&'a str>) -> ArrayRef {
                Option::<String>::write(rows, cell)
            }

            fn open<'a>(columns: &Columns<'a>, name: &'static str) -> Result<Self::Opened<'a>, ColumnError> {
                columns.of_type(name)
            }

            fn read<'a>(column: &Self::Opened<'a>, row: usize) -> Result<Self::Read<'a>, ColumnError> {
                Ok(column.is_valid(row).then(|| column.value(row)).and_then($from_name))
            }
        }
    )+};
}

stored_by_name_if_any! {
    Awaits: Awaits::name, Awaits::from_name;
    Fault: Fault::name, Fault::from_name;
}
