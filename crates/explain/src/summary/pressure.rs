//! PSI and memory cgroup figures, from the kernel's counters.

use model::metric::Semantics;
use model::run::Limits;

use super::findings::{MemoryCgroupFigures, Pressure};
use crate::series::{Series, SeriesSet};

/// Allocation stalls in global direct reclaim; reclaim within a memory cgroup does not count here.
pub(super) const ALLOCATION_STALLS: &str = "vmstat.allocstall";
/// Starts of reclaim within a memory cgroup.
pub(super) const MEMORY_CGROUP_RECLAIMS: &str = "tracepoint.vmscan.mm_vmscan_memcg_reclaim_begin";
const PRESSURE: &str = "pressure.";
const LIMIT_HITS: [&str; 2] = ["cgroup.memory.failcnt", "cgroup.memory.events.max"];
const USAGE: [&str; 2] = ["cgroup.memory.usage_in_bytes", "cgroup.memory.current"];
pub(super) const READ_SECTORS: &str = "diskstats.read_sectors";
pub(super) const WRITTEN_SECTORS: &str = "diskstats.write_sectors";

/// Prefixes of the metrics that a summary uses.
pub(super) const WANTED: [&str; 9] = [
    ALLOCATION_STALLS,
    MEMORY_CGROUP_RECLAIMS,
    PRESSURE,
    LIMIT_HITS[0],
    LIMIT_HITS[1],
    USAGE[0],
    USAGE[1],
    READ_SECTORS,
    WRITTEN_SECTORS,
];

/// First and last sample within a time.
pub(super) fn ends(series: &SeriesSet, (from_ns, to_ns): (u64, u64)) -> Option<(u32, u32)> {
    let first = series.sample_at(from_ns).or_else(|| series.headers().first().map(|header| header.sample))?;
    let last = series.sample_at(to_ns)?;
    (last > first).then_some((first, last))
}

/// PSI over the window, from the totals of `/proc/pressure` (µs), not its averages.
pub(super) fn pressure(series: &SeriesSet, window: (u64, u64)) -> Vec<Pressure> {
    let Some((first, last)) = ends(series, window) else { return Vec::new() };
    let whole_machine = |counter: &&Series| {
        counter.descriptor.semantics == Semantics::Counter && counter.descriptor.instance.is_empty()
    };
    let share = |counter: &Series| {
        let (_, kind) = counter.descriptor.name.split_once('.')?;
        let (resource, extent) = kind.split_once('.')?;
        let lost_us = series.rate_per_s(std::iter::once(counter), first, last)?;
        Some(Pressure {
            resource: resource.to_owned(),
            extent: extent.trim_end_matches("_total").to_owned(),
            share: lost_us / 1e6,
        })
    };
    series.prefixed(PRESSURE).filter(whole_machine).filter_map(share).collect()
}

/// The counters of the memory cgroup; `None` without a memory limit.
pub(super) fn memory_cgroup(limits: &Limits, series: &SeriesSet, window: (u64, u64)) -> Option<MemoryCgroupFigures> {
    let limit_bytes = limits.memory_bytes?;
    let samples = ends(series, window);
    let rate = |names: &[&str]| {
        let (first, last) = samples?;
        names.iter().find_map(|name| series.rate_per_s(series.named(name), first, last))
    };
    let max_usage = samples.and_then(|(first, last)| {
        USAGE.iter().flat_map(|name| series.named(name)).filter_map(|usage| usage.max(first, last)).max()
    });
    Some(MemoryCgroupFigures {
        limit_bytes,
        max_usage_bytes: max_usage.map(|bytes| bytes.max(0) as u64),
        limit_hits_per_s: rate(&LIMIT_HITS),
        reclaims_per_s: rate(&[MEMORY_CGROUP_RECLAIMS]),
    })
}
