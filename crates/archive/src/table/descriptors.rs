//! `descriptors`: what each metric is.

use arrow_array::ArrayRef;
use model::metric::{MetricDescriptor, MetricId, Semantics, Unit};

use super::cell::{Cell, Later};
use super::declare::columns;
use super::definition::{Column, Priority, Table};
use super::reader::{ColumnError, Columns};

/// One row for each metric.
pub(crate) struct DescriptorTable;

impl Table for DescriptorTable {
    type Row = MetricDescriptor;
    const NAME: &'static str = "descriptors";
    const PRIORITY: Priority = Priority::Metrics;

    columns! { MetricDescriptor;
        /// number that `metrics` refers to
        metric: MetricId = |row| row.id, "id";
        /// `source.field`, with the kernel's own field name
        name: String, "text";
        /// device, cache, cgroup, CPU; empty where there is only one
        instance: String, "text";
        /// `count` `bytes` `kibibytes` `pages` `sectors` `nanoseconds` `microseconds` `milliseconds` `clock_ticks`
        unit: Unit, "text";
        /// `counter` (only grows; a decrease is a reset) or `gauge`
        semantics: Semantics, "text";
        /// kernel name of the device that `instance` identifies, when the metric was described; null: no device
        device: Later<String>, "text";
        read { id: metric }
    }

    fn weight(row: &MetricDescriptor) -> usize {
        size_of::<MetricDescriptor>() + row.name.len() + row.instance.len() + row.device.as_ref().map_or(0, String::len)
    }
}
