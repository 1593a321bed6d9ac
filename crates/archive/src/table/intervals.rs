//! `intervals`: operations summed by class and interval, with their latency histogram.

use arrow_array::ArrayRef;
use model::operation::IntervalRecord;

use super::cell::{BucketCounts, BucketFloors, Cell, LatencyBuckets, joined};
use super::declare::columns;
use super::definition::{Column, Priority, Table};
use super::reader::{ColumnError, Columns};

/// One row for each class and interval.
pub(crate) struct IntervalTable;

impl Table for IntervalTable {
    type Row = IntervalRecord;
    const NAME: &'static str = "intervals";
    const PRIORITY: Priority = Priority::Intervals;

    columns! { IntervalRecord;
        /// phase of the recipe
        phase: String, "text";
        /// operation class
        class: String, "text";
        /// start of the interval
        start_ns: u64, "nanoseconds";
        /// end of the interval
        end_ns: u64, "nanoseconds";
        /// operations that finished
        count: u64, "operations";
        /// those among them that failed
        errors: u64, "operations";
        /// moved by them
        bytes: u64, "bytes";
        /// sum of their latencies, exact
        sum_ns: u64, "nanoseconds";
        /// longest latency, exact
        max_ns: Option<u64>, "nanoseconds";
        /// histogram: smallest latency of each bucket that is not empty, ascending
        bucket_low_ns: BucketFloors<LatencyBuckets> = |row| &row.buckets, "nanoseconds";
        /// operations in each of these buckets; as long as `bucket_low_ns`
        bucket_count: BucketCounts = |row| &row.buckets, "operations";
        /// still running at the end for longer than `slower_than_ns` of `run.json`
        stuck: u64, "operations";
        /// age of the oldest operation still running
        oldest_running_ns: Option<u64>, "nanoseconds";
        read { buckets: joined::<LatencyBuckets>(bucket_low_ns, bucket_count, "bucket_count")? }
    }

    fn span_ns(row: &IntervalRecord) -> Option<(u64, u64)> {
        Some((row.start_ns, row.end_ns))
    }

    fn weight(row: &IntervalRecord) -> usize {
        size_of::<IntervalRecord>() + row.phase.len() + row.class.len() + size_of_val(row.buckets.as_slice())
    }
}
