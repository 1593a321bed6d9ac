//! The marker of a lake: its schema version.

use std::path::Path;

use serde_json::{Value, json};

use crate::error::FleetError;

/// The marker's name.
pub(crate) const MARKER: &str = "stallscope-lake.json";
/// Version of the lake's tables and directories that this program knows.
const SCHEMA_VERSION: u32 = 1;

/// What a new lake's marker holds.
pub(crate) fn new_marker() -> String {
    format!("{}\n", json!({ "stallscope_lake": SCHEMA_VERSION }))
}

/// Refuses the marker of another version.
pub(crate) fn check(lake: &Path, text: &str) -> Result<(), FleetError> {
    let version = serde_json::from_str(text).ok().map(|marker: Value| marker["stallscope_lake"].clone());
    if version.as_ref().and_then(Value::as_u64) == Some(SCHEMA_VERSION.into()) {
        return Ok(());
    }
    let found = version.filter(Value::is_u64).map_or_else(|| "unknown (no number)".into(), |found| found.to_string());
    Err(FleetError::Version { path: lake.to_owned(), found, known: SCHEMA_VERSION })
}
