//! `descriptors`: what each metric is.

use arrow_array::ArrayRef;
use arrow_array::types::UInt32Type;
use arrow_schema::{DataType, Field};
use model::metric::{MetricDescriptor, MetricId, Semantics, Unit};

use super::column::{numbers, required, texts};
use super::{ColumnError, Columns, Priority, Table};

/// One row for each metric.
pub(crate) struct Descriptors;

impl Table for Descriptors {
    type Row = MetricDescriptor;
    const NAME: &'static str = "descriptors";
    const PRIORITY: Priority = Priority::Metrics;

    fn columns() -> Vec<Field> {
        vec![
            required("metric", DataType::UInt32, "id"),
            required("name", DataType::Utf8, "text"),
            required("instance", DataType::Utf8, "text"),
            required("unit", DataType::Utf8, "text"),
            required("semantics", DataType::Utf8, "text"),
        ]
    }

    fn encode(rows: &[MetricDescriptor]) -> Vec<ArrayRef> {
        vec![
            numbers::<UInt32Type, _>(rows, |row| row.id.0),
            texts(rows, |row| &row.name),
            texts(rows, |row| &row.instance),
            texts(rows, |row| row.unit.name()),
            texts(rows, |row| row.semantics.name()),
        ]
    }

    fn decode(columns: &Columns<'_>) -> Result<Vec<MetricDescriptor>, ColumnError> {
        let (metric, name, instance) = (columns.u32("metric")?, columns.text("name")?, columns.text("instance")?);
        let (unit, semantics) = (columns.text("unit")?, columns.text("semantics")?);
        let unknown = |column, name: &str| ColumnError::new(column, format!("'{name}' is not known"));
        let row = |row| {
            Ok(MetricDescriptor {
                id: MetricId(metric.value(row)),
                name: name.value(row).to_owned(),
                instance: instance.value(row).to_owned(),
                unit: Unit::from_name(unit.value(row)).ok_or_else(|| unknown("unit", unit.value(row)))?,
                semantics: Semantics::from_name(semantics.value(row))
                    .ok_or_else(|| unknown("semantics", semantics.value(row)))?,
            })
        };
        (0..columns.rows()).map(row).collect()
    }

    fn weight(row: &MetricDescriptor) -> usize {
        size_of::<MetricDescriptor>() + row.name.len() + row.instance.len()
    }
}
