//! `intervals`: latencies of block requests by disk, operation and minute, as histograms that add up.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use model::block::Operation;
use model::operation::Bucket;
use model::stall::{RequestIntervalRecord, request_bucket_floor_ns};

use crate::columns::Columns;
use crate::table::Table;
use crate::time::MINUTE_NS;

/// Requests of a disk within a minute.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct IntervalRow {
    wall_ns: i64,
    device: String,
    device_model: Option<String>,
    operation: &'static str,
    requests: u64,
    bytes: u64,
    queue: BTreeMap<u32, u64>,
    device_time: BTreeMap<u32, u64>,
}

/// Sums a run's request intervals by minute.
#[derive(Debug, Default)]
pub struct IntervalMinutes {
    rows: BTreeMap<(i64, String, &'static str), IntervalRow>,
}

impl IntervalMinutes {
    /// Adds an interval that began at a moment of the wall clock, of the disk of that name and model. All of it counts
    /// for the minute of its begin.
    pub fn add(&mut self, wall_ns: i64, (device, model): (&str, Option<&str>), interval: &RequestIntervalRecord) {
        let wall_ns = wall_ns.div_euclid(MINUTE_NS) * MINUTE_NS;
        let operation = match interval.kind.operation() {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Discard => "discard",
            Operation::None => "flush",
        };
        let row = self.rows.entry((wall_ns, device.to_owned(), operation)).or_insert_with(|| IntervalRow {
            wall_ns,
            device: device.to_owned(),
            device_model: model.map(str::to_owned),
            operation,
            ..IntervalRow::default()
        });
        row.requests += interval.count;
        row.bytes += interval.bytes;
        for (sums, buckets) in [(&mut row.queue, &interval.queue), (&mut row.device_time, &interval.device_time)] {
            buckets.iter().for_each(|Bucket { index, count }| *sums.entry(*index).or_default() += count);
        }
    }

    pub(crate) fn into_rows(self) -> Vec<IntervalRow> {
        self.rows.into_values().collect()
    }
}

impl Table for IntervalRow {
    const NAME: &'static str = "intervals";

    fn wall_ns(&self) -> i64 {
        self.wall_ns
    }

    fn batch(_: &[IntervalRow], begun: Columns<'_, IntervalRow>) -> Result<RecordBatch, ArrowError> {
        let lows = |buckets: &BTreeMap<u32, u64>| buckets.keys().copied().map(request_bucket_floor_ns).collect();
        let counts = |buckets: &BTreeMap<u32, u64>| buckets.values().copied().collect();
        begun
            .text("device", |row| Some(&row.device))
            .text("device_model", |row| row.device_model.as_deref())
            .text("operation", |row| Some(row.operation))
            .number("requests", "requests", |row| Some(row.requests))
            .number("bytes", "bytes", |row| Some(row.bytes))
            .numbers("queue_low_ns", "nanoseconds", |row| lows(&row.queue))
            .numbers("queue_count", "requests", |row| counts(&row.queue))
            .numbers("device_low_ns", "nanoseconds", |row| lows(&row.device_time))
            .numbers("device_count", "requests", |row| counts(&row.device_time))
            .batch()
    }
}

#[cfg(test)]
mod tests {
    use model::block::{DeviceNumber, Kind, Operation};
    use model::operation::Bucket;
    use model::stall::RequestIntervalRecord;

    use super::IntervalMinutes;
    use crate::time::MINUTE_NS;

    #[test]
    fn histograms_of_a_minute_add_up() {
        let interval = |kind, count, index| RequestIntervalRecord {
            start_ns: 0,
            end_ns: 0,
            device: DeviceNumber::new(8, 0),
            kind,
            count,
            bytes: 10 * count,
            queue: Vec::new(),
            device_time: vec![Bucket { index, count }],
        };
        let (read, ahead) = (Kind::of(Operation::Read), Kind::of(Operation::Read).with(Kind::AHEAD));
        let mut minutes = IntervalMinutes::default();
        for (wall_ns, interval) in [
            (MINUTE_NS, interval(read, 2, 7)),
            (2 * MINUTE_NS - 1, interval(ahead, 3, 7)),
            (MINUTE_NS + 5, interval(read, 1, 9)),
            (2 * MINUTE_NS, interval(read, 4, 7)),
        ] {
            minutes.add(wall_ns, ("sda", Some("WDC")), &interval);
        }
        let rows = minutes.into_rows();
        let brief: Vec<_> = rows.iter().map(|row| (row.wall_ns / MINUTE_NS, row.requests, row.bytes)).collect();
        assert_eq!(brief, [(1, 6, 60), (2, 4, 40)]);
        assert_eq!(rows[0].device_time.clone().into_iter().collect::<Vec<_>>(), [(7, 5), (9, 1)]);
    }
}
