//! Tables: how typed rows become Arrow columns and typed rows again.
//!
//! A table is one file below this one: a [`Table`] implementation and its line in the writer's list.

pub(crate) mod column;
mod descriptors;
mod intervals;
mod metrics;
mod operations;
mod request_intervals;
mod requests;
mod rwbs;
mod samples;
mod stacks;
mod stalls;
mod tasks;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema, SchemaRef};
use model::run::FORMAT_VERSION;

pub(crate) use column::{ColumnError, Columns};
pub(crate) use descriptors::Descriptors;
pub(crate) use intervals::Intervals;
pub(crate) use metrics::Metrics;
pub(crate) use operations::Operations;
pub(crate) use request_intervals::RequestIntervals;
pub(crate) use requests::Requests;
pub(crate) use samples::Samples;
pub(crate) use stacks::Stacks;
pub(crate) use stalls::Stalls;
pub(crate) use tasks::Tasks;

/// The tables that a tracer fills.
pub(crate) const TRACED: [&str; 5] = [Stalls::NAME, Stacks::NAME, Requests::NAME, RequestIntervals::NAME, Tasks::NAME];

/// What is given up first when the disk is full: the least comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Priority {
    /// What a tracer saw: by far the most rows.
    Trace,
    /// Slow, stuck and failed operations, one by one.
    Operations,
    /// Operations summed by interval.
    Intervals,
    /// Samples, and what is needed to read them.
    Metrics,
}

/// A kind of row, and the columns that it is stored in.
pub(crate) trait Table {
    /// The row in memory.
    type Row;
    /// Name of the table and beginning of its files' names.
    const NAME: &'static str;
    /// When it is given up.
    const PRIORITY: Priority;

    /// The columns. A later version may add columns but never changes what one means.
    fn columns() -> Vec<Field>;

    /// The rows' columns, in the order of [`Table::columns`].
    fn encode(rows: &[Self::Row]) -> Vec<ArrayRef>;

    /// The rows again. Columns are found by name, unknown ones ignored.
    fn decode(columns: &Columns<'_>) -> Result<Vec<Self::Row>, ColumnError>;

    /// Puts the rows of many flushes into the order that compresses best.
    fn arrange(_rows: &mut [Self::Row]) {}

    /// From when to when a row tells, on the monotonic clock; `None` where it tells of no time.
    fn span_ns(_row: &Self::Row) -> Option<(u64, u64)> {
        None
    }

    /// Memory that a row takes.
    fn weight(_row: &Self::Row) -> usize {
        size_of::<Self::Row>()
    }
}

/// The Arrow schema of a table.
pub(crate) fn schema<T: Table>() -> SchemaRef {
    let metadata = [("stallscope.table", T::NAME.to_owned()), ("stallscope.format", FORMAT_VERSION.to_string())];
    let metadata = metadata.map(|(key, value)| (key.to_owned(), value));
    Arc::new(Schema::new_with_metadata(T::columns(), HashMap::from(metadata)))
}

/// Rows as one Arrow batch.
pub(crate) fn batch<T: Table>(schema: &SchemaRef, rows: &[T::Row]) -> RecordBatch {
    RecordBatch::try_new(schema.clone(), T::encode(rows)).expect("encode gives the columns that columns declares")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_column_says_its_unit<T: Table>() {
        for field in schema::<T>().fields() {
            assert!(field.metadata().contains_key("unit"), "{}.{}", T::NAME, field.name());
        }
        assert_eq!(batch::<T>(&schema::<T>(), &[]).num_rows(), 0);
    }

    #[test]
    fn schemas_describe_themselves() {
        every_column_says_its_unit::<Descriptors>();
        every_column_says_its_unit::<Samples>();
        every_column_says_its_unit::<Metrics>();
        every_column_says_its_unit::<Intervals>();
        every_column_says_its_unit::<Operations>();
        every_column_says_its_unit::<Stalls>();
        every_column_says_its_unit::<Stacks>();
        every_column_says_its_unit::<Requests>();
        every_column_says_its_unit::<RequestIntervals>();
        every_column_says_its_unit::<Tasks>();
    }

    #[test]
    fn metrics_are_given_up_last() {
        assert!(
            Stalls::PRIORITY < Operations::PRIORITY
                && Operations::PRIORITY < Intervals::PRIORITY
                && Intervals::PRIORITY < Metrics::PRIORITY
        );
        assert!([Descriptors::PRIORITY, Samples::PRIORITY].iter().all(|priority| *priority == Priority::Metrics));
    }
}
