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

/// Whether [`of`] or [`idle`] reads that metric.
pub(crate) fn is_limit(metric: &str) -> bool {
    metric == IN_FLIGHT || LIMITS.iter().any(|(name, _)| *name == metric)
}

/// The disks, by identity and by name, that had no request at any of the samples, of which there are several. A limit
/// has the name of a disk that is younger than the recording.
pub(crate) fn idle(series: &SeriesSet) -> BTreeSet<String> {
    let (Some(first), Some(last)) = (series.headers().first(), series.headers().last()) else {
        return BTreeSet::new();
    };
    let is_idle = |disk: &&Series| first.sample < last.sample && disk.max(first.sample, last.sample) == Some(0);
    let idle = series.named(IN_FLIGHT).filter(is_idle).map(|disk| &disk.descriptor);
    idle.flat_map(|disk| [Some(disk.instance.clone()), disk.device.clone()]).flatten().collect()
}

/// The limits that any cgroup had: identity of the disk, and what is limited; and the rate per second, if each cgroup
/// that had one there had the same, all the time.
pub(crate) fn of(series: &SeriesSet) -> BTreeMap<(String, &'static str), Option<u64>> {
    let (Some(first), Some(last)) = (series.headers().first(), series.headers().last()) else {
        return BTreeMap::new();
    };
    let mut rates: BTreeMap<(String, &'static str), BTreeSet<u64>> = BTreeMap::new();
    for (name, kind) in LIMITS {
        for limit in series.named(name) {
            // The instance is the cgroup's path and the disk, whose number or identity may hold a colon.
            let Some((_, disk)) = limit.descriptor.instance.split_once(':') else { continue };
            let seen = [limit.at(first.sample), limit.at(last.sample), limit.max(first.sample, last.sample)];
            let seen = seen.into_iter().flatten().filter_map(|rate| u64::try_from(rate).ok().filter(|rate| *rate > 0));
            rates.entry((disk.to_owned(), kind)).or_default().extend(seen);
        }
    }
    rates.retain(|_, rates| !rates.is_empty());
    let only = |rates: BTreeSet<u64>| rates.first().copied().filter(|_| rates.len() == 1);
    rates.into_iter().map(|(key, rates)| (key, only(rates))).collect()
}
