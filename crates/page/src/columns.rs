//! Columns of the document: rows of one kind, each field an array.

use explain::blame::Cause;
use serde_json::Value;

use crate::number::{NameIndex, deltas};

/// How a field of the rows becomes a column.
pub(crate) trait DocumentCell: Sized {
    /// The column's type in the page's program.
    #[cfg(test)]
    const TYPE: &'static str = "number[]";

    /// The column of these cells.
    fn column<'a>(cells: impl Iterator<Item = &'a Self>) -> Value
    where
        Self: 'a;
}

/// A number that grows from row to row; the column holds the differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ascending(pub(crate) u64);

impl DocumentCell for Ascending {
    fn column<'a>(cells: impl Iterator<Item = &'a Ascending>) -> Value {
        deltas(cells.map(|cell| cell.0))
    }
}

macro_rules! number_cells {
    ($($number:ty)+) => {$(
        impl DocumentCell for $number {
            fn column<'a>(cells: impl Iterator<Item = &'a $number>) -> Value {
                cells.map(|cell| Value::from(*cell)).collect()
            }
        }

        impl DocumentCell for Option<$number> {
            #[cfg(test)]
            const TYPE: &'static str = "Numbers";

            fn column<'a>(cells: impl Iterator<Item = &'a Option<$number>>) -> Value {
                cells.map(|cell| cell.map_or(Value::Null, Value::from)).collect()
            }
        }
    )+};
}

number_cells! { i64 u64 }

/// A flag is 0 or 1.
impl DocumentCell for bool {
    fn column<'a>(cells: impl Iterator<Item = &'a bool>) -> Value {
        cells.map(|cell| Value::from(u8::from(*cell))).collect()
    }
}

/// A name is its index in `names` beside the columns.
impl DocumentCell for NameIndex {
    fn column<'a>(cells: impl Iterator<Item = &'a NameIndex>) -> Value {
        cells.map(|cell| Value::from(cell.0)).collect()
    }
}

impl DocumentCell for Option<NameIndex> {
    #[cfg(test)]
    const TYPE: &'static str = "Numbers";

    fn column<'a>(cells: impl Iterator<Item = &'a Option<NameIndex>>) -> Value {
        cells.map(|cell| cell.map_or(Value::Null, |index| Value::from(index.0))).collect()
    }
}

/// A cause is its index in the run's causes.
impl DocumentCell for Cause {
    fn column<'a>(cells: impl Iterator<Item = &'a Cause>) -> Value {
        cells.map(|cell| Value::from(*cell as u8)).collect()
    }
}

/// Declares a kind of row. A field is a column: its meaning, its name and type here, and its name in the document.
macro_rules! document_columns {
    ($(#[$about:meta])* $rows:ident { $($(#[doc = $doc:literal])+ $field:ident: $cell:ty => $name:literal,)+ }) => {
        $(#[$about])*
        pub(crate) struct $rows {
            $($(#[doc = $doc])+ pub(crate) $field: $cell,)+
        }

        impl $rows {
            /// The columns of these rows.
            pub(crate) fn columns(rows: &[&$rows]) -> serde_json::Map<String, serde_json::Value> {
                let mut columns = serde_json::Map::new();
                $(
                    let column = <$cell as $crate::columns::DocumentCell>::column(rows.iter().map(|row| &row.$field));
                    columns.insert($name.to_owned(), column);
                )+
                columns
            }

            /// Name, type and meaning of each column, for the page's program.
            #[cfg(test)]
            pub(crate) const TYPES: &'static [(&'static str, &'static str, &'static str)] =
                &[$(($name, <$cell as $crate::columns::DocumentCell>::TYPE, concat!($($doc),+))),+];
        }
    };
}

pub(crate) use document_columns;
