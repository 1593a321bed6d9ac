//! `request_intervals`: block requests summed by device, kind and interval.

use arrow_array::ArrayRef;
use model::block::{DeviceNumber, Kind};
use model::stall::RequestIntervalRecord;

use super::cell::{BucketCounts, BucketFloors, Cell, RequestBuckets, joined};
use super::declare::columns;
use super::definition::{Column, Priority, Table};
use super::reader::{ColumnError, Columns};

/// One row for each device, kind and interval.
pub(crate) struct RequestIntervalTable;

impl Table for RequestIntervalTable {
    type Row = RequestIntervalRecord;
    const NAME: &'static str = "request_intervals";
    const PRIORITY: Priority = Priority::Trace;

    columns! { RequestIntervalRecord;
        /// start of the interval
        start_ns: u64, "nanoseconds";
        /// end of the interval
        end_ns: u64, "nanoseconds";
        /// as in `requests`
        device: DeviceNumber, "text";
        /// as in `requests`
        kind: Kind, "text";
        /// requests that completed
        count: u64, "requests";
        /// bytes that they moved
        bytes: u64, "bytes";
        /// histogram of the time from the queue to the device: smallest time of each bucket that is not empty
        queue_low_ns: BucketFloors<RequestBuckets> = |row| &row.queue, "nanoseconds";
        /// requests in each of these buckets
        queue_count: BucketCounts = |row| &row.queue, "requests";
        /// histogram of the time at the device
        device_low_ns: BucketFloors<RequestBuckets> = |row| &row.device_time, "nanoseconds";
        /// requests in each of these buckets
        device_count: BucketCounts = |row| &row.device_time, "requests";
        read {
            queue: joined::<RequestBuckets>(queue_low_ns, queue_count, "queue_count")?,
            device_time: joined::<RequestBuckets>(device_low_ns, device_count, "device_count")?,
        }
    }

    fn span_ns(row: &RequestIntervalRecord) -> Option<(u64, u64)> {
        Some((row.start_ns, row.end_ns))
    }

    fn weight(row: &RequestIntervalRecord) -> usize {
        size_of::<RequestIntervalRecord>() + size_of_val(row.queue.as_slice()) + size_of_val(row.device_time.as_slice())
    }
}
