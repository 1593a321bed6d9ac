//! Columns of the lake's tables, built from rows.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder, UInt64Builder};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, TimestampMicrosecondArray, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, TimeUnit};
use export::column::column;

/// A table under construction: a column for each call, in order.
pub(crate) struct Columns<'a, Row> {
    rows: &'a [Row],
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl<'a, Row> Columns<'a, Row> {
    pub(crate) fn of(rows: &'a [Row]) -> Columns<'a, Row> {
        Columns { rows, fields: Vec::new(), arrays: Vec::new() }
    }

    /// A column that exists.
    pub(crate) fn array(mut self, field: Field, array: ArrayRef) -> Self {
        self.fields.push(field);
        self.arrays.push(array);
        self
    }

    pub(crate) fn text(self, name: &str, of: impl Fn(&'a Row) -> Option<&'a str>) -> Self {
        let values: StringArray = self.rows.iter().map(of).collect();
        self.array(column(name, DataType::Utf8, "text", true), Arc::new(values))
    }

    pub(crate) fn number(self, name: &str, unit: &str, of: impl Fn(&Row) -> Option<u64>) -> Self {
        let values: UInt64Array = self.rows.iter().map(of).collect();
        self.array(column(name, DataType::UInt64, unit, true), Arc::new(values))
    }

    pub(crate) fn real(self, name: &str, unit: &str, of: impl Fn(&Row) -> f64) -> Self {
        let values: Float64Array = self.rows.iter().map(|row| Some(of(row))).collect();
        self.array(column(name, DataType::Float64, unit, false), Arc::new(values))
    }

    pub(crate) fn flag(self, name: &str, of: impl Fn(&Row) -> bool) -> Self {
        let values: BooleanArray = self.rows.iter().map(|row| Some(of(row))).collect();
        self.array(column(name, DataType::Boolean, "flag", false), Arc::new(values))
    }

    /// A moment of the wall clock, to the microsecond: query engines have no finer one.
    pub(crate) fn moment(self, name: &str, wall_ns: impl Fn(&Row) -> i64) -> Self {
        let values: TimestampMicrosecondArray =
            self.rows.iter().map(|row| Some(wall_ns(row).div_euclid(1_000))).collect();
        self.array(column(name, DataType::Timestamp(TimeUnit::Microsecond, None), "UTC", false), Arc::new(values))
    }

    pub(crate) fn numbers(self, name: &str, unit: &str, of: impl Fn(&Row) -> Vec<u64>) -> Self {
        let mut values = ListBuilder::new(UInt64Builder::new());
        self.rows.iter().for_each(|row| values.append_value(of(row).into_iter().map(Some)));
        self.list(name, DataType::UInt64, unit, Arc::new(values.finish()))
    }

    pub(crate) fn texts(self, name: &str, of: impl Fn(&Row) -> Vec<Option<String>>) -> Self {
        let mut values = ListBuilder::new(StringBuilder::new());
        self.rows.iter().for_each(|row| values.append_value(of(row)));
        self.list(name, DataType::Utf8, "text", Arc::new(values.finish()))
    }

    fn list(self, name: &str, item: DataType, unit: &str, values: ArrayRef) -> Self {
        let field = Field::new_list_field(item, true);
        self.array(column(name, DataType::List(Arc::new(field)), unit, false), values)
    }

    pub(crate) fn batch(self) -> Result<RecordBatch, ArrowError> {
        RecordBatch::try_new(Arc::new(Schema::new(self.fields)), self.arrays)
    }
}
