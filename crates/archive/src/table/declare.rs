//! The one declaration of a table's columns.

/// Declares the columns of a table, inside its `impl Table`. Each column is stated once:
///
/// ```text
/// columns! { StallRecord;
///     /// What it means, as docs/FORMAT.md shows it.
///     tid: u32, "id";
///     /// A column that is not simply the record's field of that name says how it is written.
///     queued_before_ns: Option<i64> = |row| before(row, row.queued_ns), "nanoseconds";
///     read { queued_ns: moment(completed_ns, queued_before_ns) }
/// }
/// ```
///
/// The type is a [`Cell`](super::cell::Cell). `read` makes the record's remaining fields from the cells, which have the
/// columns' names there.
macro_rules! columns {
    // A column that is the record's field of that name.
    (@ $record:ident [$($columns:tt)*] [$($plain:ident)*]
        $(#[doc = $doc:literal])+ $name:ident: $cell:ty, $unit:literal; $($rest:tt)*) => {
        columns! { @ $record
            [$($columns)* { [$($doc)+] $name, $cell, $unit, |row| <$cell as Cell>::of(&row.$name) }]
            [$($plain)* $name] $($rest)* }
    };
    // A column that is written from an expression.
    (@ $record:ident [$($columns:tt)*] [$($plain:ident)*]
        $(#[doc = $doc:literal])+ $name:ident: $cell:ty = |$row:ident| $get:expr, $unit:literal; $($rest:tt)*) => {
        columns! { @ $record
            [$($columns)* { [$($doc)+] $name, $cell, $unit, |$row| $get }]
            [$($plain)*] $($rest)* }
    };
    (@ $record:ident [$({ [$($doc:literal)+] $name:ident, $cell:ty, $unit:literal, $get:expr })*] [$($plain:ident)*]
        $(read { $($field:ident: $set:expr),+ $(,)? })?) => {
        const COLUMNS: &'static [Column] = &[$(Column {
            name: stringify!($name),
            data_type: <$cell as Cell>::data_type,
            nullable: <$cell as Cell>::NULLABLE,
            unit: $unit,
            #[cfg(test)]
            later: <$cell as Cell>::LATER,
            #[cfg(test)]
            doc: concat!($($doc),+),
        }),*];

        fn encode(rows: &[$record]) -> Vec<ArrayRef> {
            vec![$(<$cell as Cell>::write(rows, $get)),*]
        }

        fn decode(columns: &Columns<'_>) -> Result<Vec<$record>, ColumnError> {
            $(let $name = <$cell as Cell>::open(columns, stringify!($name))?;)*
            let row = |row: usize| {
                $(let $name = <$cell as Cell>::read(&$name, row)?;)*
                Ok($record { $($plain,)* $($($field: $set,)+)? })
            };
            (0..columns.rows()).map(row).collect()
        }
    };
    ($record:ident; $($columns:tt)+) => { columns! { @ $record [] [] $($columns)+ } };
}

pub(crate) use columns;
