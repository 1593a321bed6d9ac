//! Histograms, as two columns of lists: the smallest value of each bucket that is not empty, and its count.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::{ArrayRef, ListArray, UInt64Array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::DataType;
use model::latency;
use model::operation::Bucket;
use model::stall::{request_bucket, request_bucket_floor_ns};

use super::Cell;
use crate::table::reader::{ColumnError, Columns, Lists, list_item};

/// How a histogram divides time into buckets.
pub(in crate::table) trait BucketScale {
    /// The smallest value of a bucket.
    fn floor_ns(index: u32) -> u64;
    /// The bucket of a value.
    fn index_of(ns: u64) -> u32;
}

/// Buckets of operations' latencies.
pub(in crate::table) struct LatencyBuckets;

impl BucketScale for LatencyBuckets {
    fn floor_ns(index: u32) -> u64 {
        latency::range_of(index).0
    }

    fn index_of(ns: u64) -> u32 {
        latency::index_of(ns)
    }
}

/// Buckets of block requests' times.
pub(in crate::table) struct RequestBuckets;

impl BucketScale for RequestBuckets {
    fn floor_ns(index: u32) -> u64 {
        request_bucket_floor_ns(index)
    }

    fn index_of(ns: u64) -> u32 {
        request_bucket(ns)
    }
}

/// A number of a bucket.
pub(in crate::table) trait BucketNumber {
    fn of(bucket: &Bucket) -> u64;
}

/// The smallest value of a bucket.
pub(in crate::table) struct Floor<S>(PhantomData<S>);

impl<S: BucketScale> BucketNumber for Floor<S> {
    fn of(bucket: &Bucket) -> u64 {
        S::floor_ns(bucket.index)
    }
}

/// The count of a bucket.
pub(in crate::table) struct Count;

impl BucketNumber for Count {
    fn of(bucket: &Bucket) -> u64 {
        bucket.count
    }
}

/// That number of each bucket.
pub(in crate::table) struct EachBucket<N>(PhantomData<N>);

pub(in crate::table) type BucketFloors<S> = EachBucket<Floor<S>>;
pub(in crate::table) type BucketCounts = EachBucket<Count>;

impl<N: BucketNumber> Cell for EachBucket<N> {
    type Field = Vec<Bucket>;
    type Written<'a> = &'a [Bucket];
    type Opened<'a> = Lists<'a, UInt64Array>;
    type Read<'a> = &'a [u64];

    fn data_type() -> DataType {
        DataType::List(list_item(DataType::UInt64))
    }

    fn of(field: &Vec<Bucket>) -> &[Bucket] {
        field
    }

    fn write<'a, R>(rows: &'a [R], cell: impl Fn(&'a R) -> &'a [Bucket]) -> ArrayRef {
        lists(rows, cell, N::of)
    }

    fn open<'a>(columns: &Columns<'a>, name: &'static str) -> Result<Self::Opened<'a>, ColumnError> {
        columns.lists(name)
    }

    fn read<'a>(column: &Self::Opened<'a>, row: usize) -> Result<Self::Read<'a>, ColumnError> {
        Ok(&column.items.values()[column.range(row)])
    }
}

/// A column of lists: one number of each bucket.
fn lists<'a, R>(rows: &'a [R], buckets: impl Fn(&'a R) -> &'a [Bucket], number: impl Fn(&Bucket) -> u64) -> ArrayRef {
    let items = Arc::new(UInt64Array::from_iter_values(rows.iter().flat_map(&buckets).map(number)));
    let offsets = OffsetBuffer::from_lengths(rows.iter().map(|row| buckets(row).len()));
    Arc::new(ListArray::new(list_item(DataType::UInt64), offsets, items, None))
}

/// The histogram of both columns' cells; `name` is the column of the counts.
pub(in crate::table) fn joined<S: BucketScale>(
    floors_ns: &[u64],
    counts: &[u64],
    name: &str,
) -> Result<Vec<Bucket>, ColumnError> {
    if floors_ns.len() != counts.len() {
        return Err(ColumnError::new(name, "has different numbers of buckets and lower bounds"));
    }
    let bucket = |(floor_ns, count): (&u64, &u64)| Bucket { index: S::index_of(*floor_ns), count: *count };
    Ok(floors_ns.iter().zip(counts).map(bucket).collect())
}
