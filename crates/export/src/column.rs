//! Columns of tables that are made for an export.

use std::collections::HashMap;

use arrow_schema::{DataType, Field};

/// A column with its unit, as in the tables of a run.
pub fn column(name: &str, data_type: DataType, unit: &str, nullable: bool) -> Field {
    Field::new(name, data_type, nullable).with_metadata(HashMap::from([("unit".to_owned(), unit.to_owned())]))
}
