//! Counters and request intervals of a run, as a flight recorder saves them.

use lake::{CounterMinutes, CounterRow, IntervalMinutes, MINUTE_NS};
use model::block::{DeviceNumber, Kind, Operation};
use model::operation::Bucket;
use model::stall::RequestIntervalRecord;

use crate::host::Host;
use statistics::SplitMix64;

/// Metrics of the machine, and of each disk.
const OF_MACHINE: usize = 15;
const OF_DISK: usize = 9;
const DISKS: [&str; 2] = ["nvme0n1", "sda"];

/// Counters of a run's minutes.
pub(crate) fn counters(begin_ns: i64, minutes: i64, random: &mut SplitMix64) -> Vec<CounterRow> {
    let series = (0..OF_MACHINE).map(|at| (format!("vmstat.metric_{at}"), ""));
    let of_disk = DISKS.iter().flat_map(|disk| (0..OF_DISK).map(|at| (format!("block.metric_{at}"), *disk)));
    let mut rows = Vec::new();
    for (name, disk) in series.chain(of_disk) {
        let mut values = CounterMinutes::default();
        let level = 1e4 * random.lognormal(2.0);
        for minute in 0..minutes {
            (0..60).for_each(|second| {
                values.add(
                    begin_ns + minute * MINUTE_NS + second * 1_000_000_000,
                    (level * random.lognormal(0.5)).round(),
                );
            });
        }
        rows.extend(values.rows(&name, disk, "1/s"));
    }
    rows
}

/// Request intervals of a run's minutes.
pub(crate) fn intervals(host: &Host, begin_ns: i64, minutes: i64, random: &mut SplitMix64) -> IntervalMinutes {
    let mut sums = IntervalMinutes::default();
    for minute in 0..minutes {
        for disk in DISKS {
            for operation in [Operation::Read, Operation::Write, Operation::None] {
                let count = 1 + random.poisson(200.0) as u64;
                let interval = RequestIntervalRecord {
                    start_ns: 0,
                    end_ns: 0,
                    device: DeviceNumber::new(259, 0),
                    kind: Kind::of(operation),
                    count,
                    bytes: count * 16_384,
                    queue: buckets(count, 20, random),
                    device_time: buckets(count, 60, random),
                };
                sums.add(begin_ns + minute * MINUTE_NS, (disk, host.model.filter(|_| disk == DISKS[0])), &interval);
            }
        }
    }
    sums
}

fn buckets(count: u64, around: u32, random: &mut SplitMix64) -> Vec<Bucket> {
    let mut counts = std::collections::BTreeMap::<u32, u64>::new();
    (0..count).for_each(|_| *counts.entry((f64::from(around) * random.lognormal(0.2)) as u32).or_default() += 1);
    counts.into_iter().map(|(index, count)| Bucket { index, count }).collect()
}
