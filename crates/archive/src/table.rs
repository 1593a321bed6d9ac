//! Tables: how typed rows become Arrow columns and typed rows again.
//!
//! A table is one file below this one, which declares its columns once: an implementation of [`Table`] and its line in the
//! writer's list.

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

pub(crate) use definition::{Priority, Table, batch, schema};
pub(crate) use descriptors::Descriptors;
pub(crate) use intervals::Intervals;
pub(crate) use metrics::Metrics;
pub(crate) use operations::Operations;
pub(crate) use reader::Columns;
pub(crate) use request_intervals::RequestIntervals;
pub(crate) use requests::Requests;
pub(crate) use samples::Samples;
pub(crate) use stacks::Stacks;
pub(crate) use stalls::Stalls;
pub(crate) use tasks::Tasks;

/// The tables that a tracer fills.
pub(crate) const TRACED: [&str; 5] = [Stalls::NAME, Stacks::NAME, Requests::NAME, RequestIntervals::NAME, Tasks::NAME];

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
        every_column_has_a_unit::<Descriptors>();
        every_column_has_a_unit::<Samples>();
        every_column_has_a_unit::<Metrics>();
        every_column_has_a_unit::<Intervals>();
        every_column_has_a_unit::<Operations>();
        every_column_has_a_unit::<Stalls>();
        every_column_has_a_unit::<Stacks>();
        every_column_has_a_unit::<Requests>();
        every_column_has_a_unit::<RequestIntervals>();
        every_column_has_a_unit::<Tasks>();
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
