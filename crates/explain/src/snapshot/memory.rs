//! Memory, dirty pages and pressure.

use model::metric::MetricDescriptor;

use crate::series::SeriesSet;

const RESOURCES: [(&str, &str); 5] =
    [("cpu", "some"), ("io", "some"), ("io", "full"), ("memory", "some"), ("memory", "full")];

/// Memory at the moment, and PSI over the window. `None`: unknown.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Memory {
    /// Total.
    pub total_bytes: Option<u64>,
    /// Available without swapping.
    pub available_bytes: Option<u64>,
    /// Dirty pages.
    pub dirty_bytes: Option<u64>,
    /// Pages under writeback.
    pub writeback_bytes: Option<u64>,
    /// PSI over the window.
    pub pressure: Vec<PressureShare>,
}

/// `/proc/pressure` over the window.
#[derive(Debug, Clone, PartialEq)]
pub struct PressureShare {
    /// `cpu`, `io`, `memory`.
    pub resource: &'static str,
    /// `some`: at least one task stalled; `full`: all non-idle tasks stalled.
    pub extent: &'static str,
    /// Share of the time, 0 to 1.
    pub share: f64,
}

pub(super) fn wants(metric: &MetricDescriptor) -> bool {
    let gauges = ["meminfo.MemTotal", "meminfo.MemAvailable", "meminfo.Dirty", "meminfo.Writeback"];
    let is_pressure = || metric.name.starts_with("pressure.");
    metric.instance.is_empty() && (gauges.contains(&metric.name.as_str()) || is_pressure())
}

pub(super) fn of(series: &SeriesSet, samples: Option<(u32, u32)>) -> Memory {
    let Some((first, last)) = samples else { return Memory::default() };
    let bytes = |name: &str| {
        let kib = series.named(name).find_map(|gauge| gauge.at(last))?;
        u64::try_from(kib).ok()?.checked_mul(1024)
    };
    let pressure = |&(resource, extent): &(&'static str, &'static str)| {
        let name = format!("pressure.{resource}.{extent}");
        let lost_us = series.rate_per_s(series.named(&name), first, last)?;
        Some(PressureShare { resource, extent, share: (lost_us / 1e6).min(1.0) })
    };
    Memory {
        total_bytes: bytes("meminfo.MemTotal"),
        available_bytes: bytes("meminfo.MemAvailable"),
        dirty_bytes: bytes("meminfo.Dirty"),
        writeback_bytes: bytes("meminfo.Writeback"),
        pressure: RESOURCES.iter().filter_map(pressure).collect(),
    }
}
