//! Tables: how typed rows become Arrow columns and typed rows again.
//!
//! A table is one file below this one, which declares its columns once: an implementation of [`Table`] and its line in
//! the writer's list.

mod cell;
mod declare;
mod definition;
mod descriptors;
#[cfg(test)]
mod documentation;
mod intervals;
mod metrics;
mod operations;
mod reader;
mod request_intervals;
mod requests;
mod rwbs;
mod samples;
mod stacks;
mod stalls;
mod tasks;
mod usage;
mod user_frames;
mod user_stacks;

pub(crate) use definition::{Priority, Table, batch, schema};
pub(crate) use descriptors::DescriptorTable;
pub(crate) use intervals::IntervalTable;
pub(crate) use metrics::MetricTable;
pub(crate) use operations::OperationTable;
pub(crate) use reader::Columns;
pub(crate) use request_intervals::RequestIntervalTable;
pub(crate) use requests::RequestTable;
pub(crate) use samples::SampleTable;
pub(crate) use stacks::StackTable;
pub(crate) use stalls::StallTable;
pub(crate) use tasks::TaskTable;
pub(crate) use usage::UsageTable;
pub(crate) use user_frames::UserFrameTable;
pub(crate) use user_stacks::UserStackTable;

/// The tables that a tracer fills.
pub(crate) const TRACED: [&str; 8] = [
    StallTable::NAME,
    StackTable::NAME,
    RequestTable::NAME,
    RequestIntervalTable::NAME,
    TaskTable::NAME,
    UsageTable::NAME,
    UserStackTable::NAME,
    UserFrameTable::NAME,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn every_column_has_a_unit<T: Table>() {
        for field in schema::<T>().fields() {
            assert!(field.metadata().contains_key("unit"), "{}.{}", T::NAME, field.name());
        }
        assert_eq!(batch::<T>(&schema::<T>(), &[]).num_rows(), 0);
    }

    #[test]
    fn schemas_describe_themselves() {
        every_column_has_a_unit::<DescriptorTable>();
        every_column_has_a_unit::<SampleTable>();
        every_column_has_a_unit::<MetricTable>();
        every_column_has_a_unit::<IntervalTable>();
        every_column_has_a_unit::<OperationTable>();
        every_column_has_a_unit::<StallTable>();
        every_column_has_a_unit::<StackTable>();
        every_column_has_a_unit::<RequestTable>();
        every_column_has_a_unit::<RequestIntervalTable>();
        every_column_has_a_unit::<TaskTable>();
        every_column_has_a_unit::<UsageTable>();
        every_column_has_a_unit::<UserStackTable>();
        every_column_has_a_unit::<UserFrameTable>();
    }

    #[test]
    fn metrics_are_given_up_last() {
        assert!(
            StallTable::PRIORITY < OperationTable::PRIORITY
                && OperationTable::PRIORITY < IntervalTable::PRIORITY
                && IntervalTable::PRIORITY < MetricTable::PRIORITY
        );
        assert!(
            [DescriptorTable::PRIORITY, SampleTable::PRIORITY].iter().all(|priority| *priority == Priority::Metrics)
        );
    }
}
