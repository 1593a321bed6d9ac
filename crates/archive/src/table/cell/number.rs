//! Whole numbers, flags, and what may be absent.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::builder::PrimitiveBuilder;
use arrow_array::types::{ArrowPrimitiveType, Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray};
use arrow_schema::DataType;
use model::metric::MetricId;

use super::Cell;
use crate::table::reader::{ColumnError, Columns};

/// A whole number that Arrow stores as it is.
pub(in crate::table) trait Number: Copy + Send + Sync {
    /// Its Arrow type.
    type Arrow: ArrowPrimitiveType<Native = Self>;
}

impl Number for u32 {
    type Arrow = UInt32Type;
}

impl Number for u64 {
    type Arrow = UInt64Type;
}

impl Number for i32 {
    type Arrow = Int32Type;
}

impl Number for i64 {
    type Arrow = Int64Type;
}

impl<T: Number> Cell for T {
    type Field = T;
    type Written<'a> = T;
    type Opened<'a> = &'a PrimitiveArray<T::Arrow>;
    type Read<'a> = T;

    fn data_type() -> DataType {
        T::Arrow::DATA_TYPE
    }

    fn of(field: &T) -> T {
        *field
    }

    fn write<'a, R>(rows: &'a [R], cell: impl Fn(&'a R) -> T) -> ArrayRef {
        Arc::new(PrimitiveArray::<T::Arrow>::from_iter_values(rows.iter().map(cell)))
    }

    fn open<'a>(columns: &Columns<'a>, name: &'static str) -> Result<Self::Opened<'a>, ColumnError> {
        columns.without_nulls(name)
    }

    fn read<'a>(column: &Self::Opened<'a>, row: usize) -> Result<Self::Read<'a>, ColumnError> {
        Ok(column.value(row))
    }
}

impl<T: Number> Cell for Option<T> {
    type Field = Option<T>;
    type Written<'a> = Option<T>;
    type Opened<'a> = &'a PrimitiveArray<T::Arrow>;
    type Read<'a> = Option<T>;

    const NULLABLE: bool = true;

    fn data_type() -> DataType {
        T::Arrow::DATA_TYPE
    }

    fn of(field: &Option<T>) -> Option<T> {
        *field
    }

    fn write<'a, R>(rows: &'a [R], cell: impl Fn(&'a R) -> Option<T>) -> ArrayRef {
        let mut column = PrimitiveBuilder::<T::Arrow>::with_capacity(rows.len());
        rows.iter().for_each(|row| column.append_option(cell(row)));
        Arc::new(column.finish())
    }

    fn open<'a>(columns: &Columns<'a>, name: &'static str) -> Result<Self::Opened<'a>, ColumnError> {
        columns.of_type(name)
    }

    fn read<'a>(column: &Self::Opened<'a>, row: usize) -> Result<Self::Read<'a>, ColumnError> {
        Ok(column.is_valid(row).then(|| column.value(row)))
    }
}

impl Cell for MetricId {
    type Field = MetricId;
    type Written<'a> = MetricId;
    type Opened<'a> = &'a PrimitiveArray<UInt32Type>;
    type Read<'a> = MetricId;

    fn data_type() -> DataType {
        DataType::UInt32
    }

    fn of(field: &MetricId) -> MetricId {
        *field
    }

    fn write<'a, R>(rows: &'a [R], cell: impl Fn(&'a R) -> MetricId) -> ArrayRef {
        u32::write(rows, |row| cell(row).0)
    }

    fn open<'a>(columns: &Columns<'a>, name: &'static str) -> Result<Self::Opened<'a>, ColumnError> {
        columns.without_nulls(name)
    }

    fn read<'a>(column: &Self::Opened<'a>, row: usize) -> Result<Self::Read<'a>, ColumnError> {
        Ok(MetricId(column.value(row)))
    }
}

impl Cell for bool {
    type Field = bool;
    type Written<'a> = bool;
    type Opened<'a> = &'a BooleanArray;
    type Read<'a> = bool;

    fn data_type() -> DataType {
        DataType::Boolean
    }

    fn of(field: &bool) -> bool {
        *field
    }

    fn write<'a, R>(rows: &'a [R], cell: impl Fn(&'a R) -> bool) -> ArrayRef {
        Arc::new(rows.iter().map(|row| Some(cell(row))).collect::<BooleanArray>())
    }

    fn open<'a>(columns: &Columns<'a>, name: &'static str) -> Result<Self::Opened<'a>, ColumnError> {
        columns.without_nulls(name)
    }

    fn read<'a>(column: &Self::Opened<'a>, row: usize) -> Result<Self::Read<'a>, ColumnError> {
        Ok(column.value(row))
    }
}

/// What may be absent, in a column that came later than the format's first version: absent in every row of an older
/// run.
pub(in crate::table) struct Later<T>(PhantomData<T>);

impl<T> Cell for Later<T>
where
    Option<T>: for<'a> Cell<Read<'a> = Option<T>>,
{
    type Field = <Option<T> as Cell>::Field;
    type Written<'a> = <Option<T> as Cell>::Written<'a>;
    type Opened<'a> = Option<<Option<T> as Cell>::Opened<'a>>;
    type Read<'a> = Option<T>;

    const NULLABLE: bool = true;
    #[cfg(test)]
    const LATER: bool = true;

    fn data_type() -> DataType {
        Option::<T>::data_type()
    }

    fn of(field: &Self::Field) -> Self::Written<'_> {
        Option::<T>::of(field)
    }

    fn write<'a, R>(rows: &'a [R], cell: impl Fn(&'a R) -> Self::Written<'a>) -> ArrayRef {
        Option::<T>::write(rows, cell)
    }

    fn open<'a>(columns: &Columns<'a>, name: &'static str) -> Result<Self::Opened<'a>, ColumnError> {
        columns.has(name).then(|| Option::<T>::open(columns, name)).transpose()
    }

    fn read<'a>(column: &Self::Opened<'a>, row: usize) -> Result<Self::Read<'a>, ColumnError> {
        column.as_ref().map_or(Ok(None), |column| Option::<T>::read(column, row))
    }
}
