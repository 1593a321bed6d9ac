//! Which limits cgroups have on which disks, from counters.

use std::collections::BTreeSet;

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

/// Whether [`of`] or [`idle`] reads that metric.
pub(super) fn is_limit(metric: &str) -> bool {
    metric == IN_FLIGHT || LIMITS.iter().any(|(name, _)| *name == metric)
}

/// The disks, by identity, that had no request at any of the samples, of which there are several.
pub(super) fn idle(series: &SeriesSet) -> BTreeSet<String> {
    let (Some(first), Some(last)) = (series.headers().first(), series.headers().last()) else {
        return BTreeSet::new();
    };
    let is_idle = |disk: &&Series| first.sample < last.sample && disk.max(first.sample, last.sample) == Some(0);
    series.named(IN_FLIGHT).filter(is_idle).map(|disk| disk.descriptor.instance.clone()).collect()
}

/// The limits that any cgroup had: identity of the disk, and what is limited.
pub(super) fn of(series: &SeriesSet) -> BTreeSet<(String, &'static str)> {
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
