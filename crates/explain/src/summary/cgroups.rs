//! The busiest cgroups of the machine, and those that waited most.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::series::{Series, SeriesSet};

/// Metrics of a cgroup: of version 1, of version 2.
const CPU: [(&str, f64); 2] = [("cgroups.cpuacct.usage", 1e-9), ("cgroups.cpu.stat.usage_usec", 1e-6)];
const THROTTLED: [(&str, f64); 2] =
    [("cgroups.cpu.stat.throttled_time", 1e-9), ("cgroups.cpu.stat.throttled_usec", 1e-6)];
const READ: [(&str, f64); 2] = [("cgroups.blkio.throttle.io_service_bytes.Read", 1.0), ("cgroups.io.stat.rbytes", 1.0)];
const WRITTEN: [(&str, f64); 2] =
    [("cgroups.blkio.throttle.io_service_bytes.Write", 1.0), ("cgroups.io.stat.wbytes", 1.0)];
const MEMORY: [&str; 2] = ["cgroups.memory.usage_in_bytes", "cgroups.memory.current"];
const IO_PRESSURE: [(&str, f64); 1] = [("cgroups.io.pressure.some", 1e-6)];
const MEMORY_PRESSURE: [(&str, f64); 1] = [("cgroups.memory.pressure.some", 1e-6)];

/// Prefixes of these metrics.
pub(super) const WANTED: [&str; 7] = [
    "cgroups.cpuacct.usage",
    "cgroups.cpu.stat.usage_usec",
    "cgroups.cpu.stat.throttled_",
    "cgroups.blkio.throttle.io_service_bytes.",
    "cgroups.io.",
    "cgroups.memory.",
    "cgroups.cpu.pressure.some",
];
/// Cgroups that are listed: so many by CPU time, by bytes, by time that they waited, and by memory.
const LISTED: usize = 3;

/// A cgroup with all below it. Figures are of the samples at which it was read in full; `None`: unknown.
#[derive(Debug, Clone, PartialEq)]
pub struct CgroupFigures {
    /// Path from the root.
    pub path: String,
    /// CPUs used on average.
    pub cpus: Option<f64>,
    /// Bytes read per second.
    pub read_bytes_per_s: Option<f64>,
    /// Bytes written per second.
    pub written_bytes_per_s: Option<f64>,
    /// Largest memory usage.
    pub memory_bytes: Option<u64>,
    /// Throttled time of its CPUs per second, by the CPU quota.
    pub throttled: Option<f64>,
    /// PSI `some` of I/O, 0 to 1.
    pub io_pressure: Option<f64>,
    /// PSI `some` of memory, 0 to 1.
    pub memory_pressure: Option<f64>,
}

impl CgroupFigures {
    fn of(path: &str, series: &SeriesSet, (first, last): (u32, u32)) -> CgroupFigures {
        // The instances of I/O have the device behind the path.
        let is_of = |one: &&Series| {
            let rest = one.descriptor.instance.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        };
        let rate = |metrics: &[(&str, f64)]| {
            let of =
                |name| series.named(name).filter(is_of).filter_map(|one| series.present_rate_per_s(one, first, last));
            let rates = metrics.iter().flat_map(|&(name, factor)| of(name).map(move |rate| rate * factor));
            rates.reduce(|sum, rate| sum + rate)
        };
        let peak =
            MEMORY.iter().flat_map(|name| series.named(name).filter(is_of)).filter_map(|one| one.max(first, last));
        CgroupFigures {
            path: path.to_owned(),
            cpus: rate(&CPU),
            read_bytes_per_s: rate(&READ),
            written_bytes_per_s: rate(&WRITTEN),
            memory_bytes: peak.max().map(|bytes| bytes.max(0) as u64),
            throttled: rate(&THROTTLED),
            io_pressure: rate(&IO_PRESSURE),
            memory_pressure: rate(&MEMORY_PRESSURE),
        }
    }

    fn bytes_per_s(&self) -> f64 {
        self.read_bytes_per_s.unwrap_or(0.0) + self.written_bytes_per_s.unwrap_or(0.0)
    }

    fn memory(&self) -> f64 {
        self.memory_bytes.unwrap_or(0) as f64
    }

    fn waited(&self) -> f64 {
        [self.throttled, self.io_pressure, self.memory_pressure].into_iter().flatten().fold(0.0, f64::max)
    }
}

/// The busiest by CPU time and by bytes, those that waited most, and the largest; the most CPU time first.
pub(super) fn cgroups(series: &SeriesSet, samples: Option<(u32, u32)>) -> Vec<CgroupFigures> {
    let Some(samples) = samples else { return Vec::new() };
    let named = CPU.iter().chain(&READ).map(|(name, _)| *name).chain(MEMORY);
    let mut paths: BTreeSet<&str> = BTreeSet::new();
    for one in named.flat_map(|name| series.named(name)) {
        let instance = one.descriptor.instance.as_str();
        // Names of cgroups may hold a colon; without a device, the instance is the path.
        let has_device = one.descriptor.name.contains(".io");
        paths.insert(if has_device { instance.rsplit_once(':').map_or(instance, |(path, _)| path) } else { instance });
    }
    // The root is the machine.
    paths.remove("/");
    let mut all: Vec<CgroupFigures> = paths.into_iter().map(|path| CgroupFigures::of(path, series, samples)).collect();
    let mut listed = BTreeSet::new();
    let rank: [fn(&CgroupFigures) -> f64; 4] =
        [|one| one.cpus.unwrap_or(0.0), CgroupFigures::bytes_per_s, CgroupFigures::waited, CgroupFigures::memory];
    for amount in rank {
        let mut order: Vec<&CgroupFigures> = all.iter().filter(|one| amount(one) > 0.0).collect();
        order.sort_by(|a, b| amount(b).total_cmp(&amount(a)).then_with(|| a.path.cmp(&b.path)));
        listed.extend(order.into_iter().take(LISTED).map(|one| one.path.clone()));
    }
    all.retain(|one| listed.contains(&one.path));
    all.sort_by_key(|one| Reverse(((one.cpus.unwrap_or(0.0) * 1e6) as u64, one.memory_bytes)));
    all
}
