//! Which limits cgroups have on which disks, from counters.

use std::collections::{BTreeMap, BTreeSet};

use crate::series::{Series, SeriesSet};

/// Metrics of version 1 and 2, and what they limit.
const LIMITS: [(&str, &str); 8] = [
    ("cgroups.blkio.throttle.read_bps_device", "read_bps"),
    ("cgroups.blkio.throttle.write_bps_device", "write_bps"),
    ("cgroups.blkio.throttle.read_iops_device", "read_iops"),
    ("cgroups.blkio.throttle.write_iops_device", "write_iops"),
    ("cgroups.io.max.rbps", "read_bps"),
    ("cgroups.io.max.wbps", "write_bps"),
    ("cgroups.io.max.riops", "read_iops"),
    ("cgroups.io.max.wiops", "write_iops"),
];

/// Requests at a disk, at each sample.
const IN_FLIGHT: &str = "diskstats.in_flight";

/// Whether [`read`] reads that metric.
pub(super) fn is_limit(metric: &str) -> bool {
    metric == IN_FLIGHT || LIMITS.iter().any(|(name, _)| *name == metric)
}

/// Limits, those of them whose rate is known, and the disks, by identity, that had nothing to do.
type Read = (BTreeSet<(String, &'static str)>, BTreeMap<(String, &'static str), u64>, BTreeSet<String>);

/// Reads what disks' limits were, and which disks had nothing to do.
pub(super) fn read(series: &SeriesSet) -> Read {
    (of(series), rates(series), idle(series))
}

/// The disks, by identity, that had no request at any of the samples, of which there are several.
fn idle(series: &SeriesSet) -> BTreeSet<String> {
    let (Some(first), Some(last)) = (series.headers().first(), series.headers().last()) else {
        return BTreeSet::new();
    };
    let is_idle = |disk: &&Series| first.sample < last.sample && disk.max(first.sample, last.sample) == Some(0);
    series.named(IN_FLIGHT).filter(is_idle).map(|disk| disk.descriptor.instance.clone()).collect()
}

/// The limits that any cgroup had: identity of the disk, and what is limited.
fn of(series: &SeriesSet) -> BTreeSet<(String, &'static str)> {
    let (Some(first), Some(last)) = (series.headers().first(), series.headers().last()) else {
        return BTreeSet::new();
    };
    let of_metric = |(name, kind): &(&'static str, &'static str)| {
        let limits = series.named(name).filter(|limit| limit.max(first.sample, last.sample) > Some(0));
        // The instance is the cgroup's path and the disk, whose number or identity may hold a colon.
        let disks = limits.filter_map(|limit| limit.descriptor.instance.split_once(':'));
        let kind = *kind;
        disks.map(|(_, disk)| (disk.to_owned(), kind)).collect::<Vec<_>>()
    };
    LIMITS.iter().flat_map(of_metric).collect()
}

/// The limits of which the rate is known, per second: each cgroup that had one on that disk had the same, all the time.
fn rates(series: &SeriesSet) -> BTreeMap<(String, &'static str), u64> {
    let (Some(first), Some(last)) = (series.headers().first(), series.headers().last()) else {
        return BTreeMap::new();
    };
    let mut rates: BTreeMap<(String, &'static str), BTreeSet<i64>> = BTreeMap::new();
    for (name, kind) in LIMITS {
        for limit in series.named(name) {
            let Some((_, disk)) = limit.descriptor.instance.split_once(':') else { continue };
            let ends = [limit.at(first.sample), limit.at(last.sample), limit.max(first.sample, last.sample)];
            let of_disk = rates.entry((disk.to_owned(), kind)).or_default();
            of_disk.extend(ends.into_iter().flatten().filter(|rate| *rate > 0));
        }
    }
    let only = |(key, rates): (_, BTreeSet<i64>)| match rates.first() {
        Some(rate) if rates.len() == 1 => Some((key, u64::try_from(*rate).ok()?)),
        _ => None,
    };
    rates.into_iter().filter_map(only).collect()
}
