//! Rows of an answer, as values that text and JSON are made of.

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::error::DataFusionError;
use serde_json::{Map, Value, json};

use crate::error::FleetError;

/// An answer: columns by name, and rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Answer {
    /// Names of the columns.
    pub(crate) columns: Vec<String>,
    /// A value for each column.
    pub(crate) rows: Vec<Vec<Value>>,
}

impl Answer {
    /// An answer of these columns, without rows.
    pub(crate) fn of(columns: &[&str]) -> Answer {
        Answer { columns: columns.iter().map(|name| (*name).to_owned()).collect(), rows: Vec::new() }
    }

    /// The rows of batches. Numbers stay numbers; moments and lists become text.
    pub(crate) fn from_batches(batches: &[RecordBatch]) -> Result<Answer, FleetError> {
        let mut answer = Answer::default();
        for batch in batches {
            if answer.columns.is_empty() {
                answer.columns = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
            }
            let columns: Vec<Vec<Value>> =
                batch.columns().iter().map(|column| values(column.as_ref())).collect::<Result<_, _>>()?;
            answer
                .rows
                .extend((0..batch.num_rows()).map(|row| columns.iter().map(|column| column[row].clone()).collect()));
        }
        Ok(answer)
    }

    /// Each row as an object.
    pub(crate) fn objects(&self) -> Value {
        let object = |row: &Vec<Value>| -> Value {
            Value::Object(self.columns.iter().cloned().zip(row.iter().cloned()).collect::<Map<_, _>>())
        };
        self.rows.iter().map(object).collect()
    }

    /// A value of a row by its column's name; null if there is none.
    pub(crate) fn value<'a>(&self, row: &'a [Value], column: &str) -> &'a Value {
        let at = self.columns.iter().position(|name| name == column);
        at.and_then(|at| row.get(at)).unwrap_or(&Value::Null)
    }
}

fn values(column: &dyn Array) -> Result<Vec<Value>, FleetError> {
    let kind = column.data_type();
    if kind.is_integer() {
        let options = FormatOptions::default();
        let formatter = ArrayFormatter::try_new(column, &options).map_err(DataFusionError::from)?;
        let number = |row: usize| -> Value { formatter.value(row).to_string().parse().unwrap_or(Value::Null) };
        return Ok((0..column.len()).map(|row| if column.is_null(row) { Value::Null } else { number(row) }).collect());
    }
    if kind.is_floating() || matches!(kind, DataType::Decimal128(..)) {
        let floats = cast(column, &DataType::Float64).map_err(DataFusionError::from)?;
        return Ok(floats.as_primitive::<Float64Type>().iter().map(|value| json!(value)).collect());
    }
    if *kind == DataType::Boolean {
        return Ok(column.as_boolean().iter().map(|value| json!(value)).collect());
    }
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(column, &options).map_err(DataFusionError::from)?;
    let text = |row: usize| if column.is_null(row) { Value::Null } else { json!(formatter.value(row).to_string()) };
    Ok((0..column.len()).map(text).collect())
}

/// A column of text; empty where it is null.
pub(crate) fn texts(batch: &RecordBatch, column: &str) -> Result<Vec<String>, FleetError> {
    let texts = cast(&named(batch, column)?, &DataType::Utf8).map_err(DataFusionError::from)?;
    Ok(texts.as_string::<i32>().iter().map(|text| text.unwrap_or_default().to_owned()).collect())
}

/// A column of numbers; zero where it is null.
pub(crate) fn numbers(batch: &RecordBatch, column: &str) -> Result<Vec<f64>, FleetError> {
    let numbers = cast(&named(batch, column)?, &DataType::Float64).map_err(DataFusionError::from)?;
    Ok(numbers.as_primitive::<Float64Type>().iter().map(|number| number.unwrap_or_default()).collect())
}

fn named(batch: &RecordBatch, column: &str) -> Result<datafusion::arrow::array::ArrayRef, FleetError> {
    let missing = || DataFusionError::Internal(format!("the answer has no column {column}"));
    Ok(batch.column_by_name(column).cloned().ok_or_else(missing)?)
}
