//! Disks: load and latency.

use std::collections::BTreeMap;

use model::block::DeviceNumber;
use model::metric::MetricDescriptor;
use model::run::{Device, RunDescription};
use model::stall::{RequestIntervalRecord, request_bucket_floor_ns};

use crate::series::SeriesSet;

const WANTED: [&str; 8] = [
    "diskstats.read_ios",
    "diskstats.write_ios",
    "diskstats.read_sectors",
    "diskstats.write_sectors",
    "diskstats.read_ticks",
    "diskstats.write_ticks",
    "diskstats.in_flight",
    "diskstats.io_ticks",
];

/// A disk in the window. `None`: unknown, or no I/O.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceLoad {
    /// Kernel name; the identity if the name is unknown.
    pub name: String,
    /// `major:minor`.
    pub number: Option<String>,
    /// The file system mounted from it, if there is only one.
    pub mount: Option<String>,
    /// Requests at the device or in its queue at the window's end.
    pub in_flight: Option<u64>,
    /// Completed reads per second.
    pub reads_per_s: Option<f64>,
    /// Completed writes per second.
    pub writes_per_s: Option<f64>,
    /// Bytes read per second.
    pub read_bytes_per_s: Option<f64>,
    /// Bytes written per second.
    pub written_bytes_per_s: Option<f64>,
    /// Utilization: share of the time with I/O in flight, 0 to 1.
    pub busy: Option<f64>,
    /// Mean time of a completed request from queue to completion.
    pub mean_ns: Option<u64>,
    /// 99th percentile of the device time of completed requests, approximate; traced runs only.
    pub device_p99_ns: Option<u64>,
}

impl DeviceLoad {
    fn utilization(&self) -> f64 {
        self.busy.unwrap_or(0.0)
    }
}

pub(super) fn wants(metric: &MetricDescriptor) -> bool {
    WANTED.contains(&metric.name.as_str()) && !metric.instance.contains("-part")
}

/// Collects device times of requests.
#[derive(Debug, Default)]
pub(super) struct Devices {
    device_times: BTreeMap<DeviceNumber, BTreeMap<u32, u64>>,
}

impl Devices {
    pub(super) fn requests(&mut self, record: &RequestIntervalRecord) {
        let times = self.device_times.entry(record.device).or_default();
        for bucket in &record.device_time {
            *times.entry(bucket.index).or_default() += bucket.count;
        }
    }

    pub(super) fn finish(
        &self,
        run: &RunDescription,
        series: &SeriesSet,
        samples: Option<(u32, u32)>,
    ) -> Vec<DeviceLoad> {
        let Some((first, last)) = samples else { return Vec::new() };
        let mut loads = Vec::new();
        for gauge in series.named("diskstats.in_flight") {
            let identity = &gauge.descriptor.instance;
            let of =
                |name: &'static str| series.named(name).filter(move |metric| metric.descriptor.instance == *identity);
            let rate = |name: &'static str| series.rate_per_s(of(name), first, last);
            let sum = |a: &'static str, b: &'static str| Some(rate(a)? + rate(b)?);
            let finished = sum("diskstats.read_ios", "diskstats.write_ios").filter(|&per_s| per_s > 0.0);
            let waited_ms = sum("diskstats.read_ticks", "diskstats.write_ticks");
            let in_flight = gauge.at(last).and_then(|count| u64::try_from(count).ok());
            // The kernel's millisecond counters are rounded: a busy second may count 1001.
            let busy = rate("diskstats.io_ticks").map(|ms| (ms / 1000.0).min(1.0));
            if finished.is_none() && in_flight.is_none_or(|count| count == 0) && busy.is_none_or(|busy| busy == 0.0) {
                continue;
            }
            let device = run.devices.iter().find(|device| device.identity == *identity);
            loads.push(DeviceLoad {
                name: device.map_or_else(|| identity.clone(), |device| device.name.clone()),
                number: device.map(|device| device.number.clone()),
                mount: device.and_then(|device| mount_of(run, device)),
                in_flight,
                reads_per_s: rate("diskstats.read_ios"),
                writes_per_s: rate("diskstats.write_ios"),
                read_bytes_per_s: rate("diskstats.read_sectors").map(|sectors| sectors * 512.0),
                written_bytes_per_s: rate("diskstats.write_sectors").map(|sectors| sectors * 512.0),
                busy,
                mean_ns: finished.zip(waited_ms).map(|(count, ms)| (ms * 1e6 / count) as u64),
                device_p99_ns: device.and_then(|device| self.p99_ns(device)),
            });
        }
        loads.sort_by(|a, b| b.utilization().total_cmp(&a.utilization()).then_with(|| a.name.cmp(&b.name)));
        loads
    }

    fn p99_ns(&self, device: &Device) -> Option<u64> {
        let (major, minor) = device.number.split_once(':')?;
        let number = DeviceNumber::new(major.parse().ok()?, minor.parse().ok()?);
        quantile_ns(self.device_times.get(&number)?, 0.99)
    }
}

/// The lower end of the bucket that contains the quantile.
pub(super) fn quantile_ns(buckets: &BTreeMap<u32, u64>, quantile: f64) -> Option<u64> {
    let all: u64 = buckets.values().sum();
    let wanted = (all as f64 * quantile).ceil() as u64;
    let mut seen = 0;
    let mut bucket = buckets.iter().find(|(_, count)| {
        seen += **count;
        seen >= wanted
    });
    bucket.take().filter(|_| all > 0).map(|(index, _)| request_bucket_floor_ns(*index))
}

fn mount_of(run: &RunDescription, device: &Device) -> Option<String> {
    let source = format!("/dev/{}", device.name);
    let mut mounts = run.mounts.iter().filter(|mount| mount.device == device.number || mount.source == source);
    let first = mounts.next()?;
    let others = mounts.any(|mount| mount.point != first.point);
    (!others).then(|| format!("{} on {}", first.fs_type, first.point))
}
