//! `metrics`: the changes of metrics' values.
//!
//! Values are stored as the kernel gave them. Differences between neighbours were tried: they save 3 % of the
//! bytes, on a busy machine's /proc as on noise, which does not justify making every reader sum them up.

use arrow_array::ArrayRef;
use model::metric::{MetricChange, MetricId};

use super::cell::Cell;
use super::declare::columns;
use super::definition::{Column, Priority, Table};
use super::reader::{ColumnError, Columns};

/// One row for each change.
pub(crate) struct MetricTable;

impl Table for MetricTable {
    type Row = MetricChange;
    const NAME: &'static str = "metrics";
    const PRIORITY: Priority = Priority::Metrics;

    columns! { MetricChange;
        /// the sample that saw the change
        sample: u32, "ordinal";
        /// row of `descriptors`
        metric: MetricId, "id";
        /// the new value; null: absent from this sample on
        value: Option<i64>, "the descriptor's";
    }

    /// A metric's values side by side share their upper bytes. The sort is stable: a metric that changes twice in a
    /// sample keeps the later value last.
    fn arrange(rows: &mut [MetricChange]) {
        rows.sort_by_key(|row| (row.metric, row.sample));
    }
}
