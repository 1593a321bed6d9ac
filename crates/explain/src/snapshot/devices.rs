//! Disks: load and latency.

use std::collections::BTreeMap;

use model::block::DeviceNumber;
use model::metric::MetricDescriptor;
use model::run::{Device, RunDescription};
use model::stall::{RequestIntervalRecord, request_bucket_floor_ns};

use crate::blame::Scope;
use crate::series::{Series, SeriesSet};

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
    /// Whether the load, the recorded command or the scope names it.
    pub under_test: bool,
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

    fn is_idle(&self) -> bool {
        let rates = [self.reads_per_s, self.writes_per_s, self.busy];
        rates.into_iter().flatten().all(|rate| rate == 0.0) && self.in_flight.is_none_or(|count| count == 0)
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
        scope: &Scope,
        series: &SeriesSet,
        samples: Option<(u32, u32)>,
    ) -> Vec<DeviceLoad> {
        let Some(samples) = samples else { return Vec::new() };
        let gauges = series.named("diskstats.in_flight");
        let load = |gauge: &Series| self.load(&gauge.descriptor.instance, (run, scope), series, samples);
        let mut loads: Vec<DeviceLoad> = gauges.map(load).filter(|load| load.under_test || !load.is_idle()).collect();
        let by_name = |a: &DeviceLoad, b: &DeviceLoad| a.name.cmp(&b.name);
        loads.sort_by(|a, b| {
            let first = (!a.under_test).cmp(&!b.under_test);
            first.then(b.utilization().total_cmp(&a.utilization())).then_with(|| by_name(a, b))
        });
        loads
    }

    fn load(
        &self,
        identity: &str,
        (run, scope): (&RunDescription, &Scope),
        series: &SeriesSet,
        (first, last): (u32, u32),
    ) -> DeviceLoad {
        let of = |name: &'static str| series.named(name).filter(move |metric| metric.descriptor.instance == identity);
        let rate = |name: &'static str| series.rate_per_s(of(name), first, last);
        let sum = |a: &'static str, b: &'static str| Some(rate(a)? + rate(b)?);
        let finished = sum("diskstats.read_ios", "diskstats.write_ios").filter(|&per_s| per_s > 0.0);
        let waited_ms = sum("diskstats.read_ticks", "diskstats.write_ticks");
        let in_flight = of("diskstats.in_flight").find_map(|gauge| gauge.at(last));
        let device = run.devices.iter().find(|device| device.identity == identity);
        // The run does not describe a disk that came later.
        let kernel_name = || of("diskstats.in_flight").find_map(|gauge| gauge.descriptor.device.clone());
        let name = device.map(|device| device.name.clone()).or_else(kernel_name);
        DeviceLoad {
            name: name.unwrap_or_else(|| identity.to_owned()),
            number: device.map(|device| device.number.clone()),
            mount: device.and_then(|device| mount_of(run, device)),
            under_test: device.is_some_and(|device| is_under_test(run, scope, device)),
            in_flight: in_flight.and_then(|count| u64::try_from(count).ok()),
            reads_per_s: rate("diskstats.read_ios"),
            writes_per_s: rate("diskstats.write_ios"),
            read_bytes_per_s: rate("diskstats.read_sectors").map(|sectors| sectors * 512.0),
            written_bytes_per_s: rate("diskstats.write_sectors").map(|sectors| sectors * 512.0),
            // The kernel's millisecond counters are rounded: a busy second may count 1001.
            busy: rate("diskstats.io_ticks").map(|ms| (ms / 1000.0).min(1.0)),
            mean_ns: finished.zip(waited_ms).map(|(count, ms)| (ms * 1e6 / count) as u64),
            device_p99_ns: device.and_then(|device| self.p99_ns(device)),
        }
    }

    fn p99_ns(&self, device: &Device) -> Option<u64> {
        quantile_ns(self.device_times.get(&device.device_number()?)?, 0.99)
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

/// Whether a disk is in scope, or below a directory that the load or the recorded command uses.
fn is_under_test(run: &RunDescription, scope: &Scope, device: &Device) -> bool {
    let names = [&device.name, &device.number, &device.identity];
    scope.devices.iter().any(|wanted| names.contains(&wanted)) || run.is_under_test(device)
}

/// The numbers of these disks.
pub(super) fn under_test(run: &RunDescription, scope: &Scope) -> Vec<DeviceNumber> {
    run.devices.iter().filter(|device| is_under_test(run, scope, device)).filter_map(Device::device_number).collect()
}

fn mount_of(run: &RunDescription, device: &Device) -> Option<String> {
    let source = format!("/dev/{}", device.name);
    let mut mounts = run.mounts.iter().filter(|mount| mount.device == device.number || mount.source == source);
    let first = mounts.next()?;
    let others = mounts.any(|mount| mount.point != first.point);
    (!others).then(|| format!("{} on {}", first.fs_type, first.point))
}
