//! How much cgroups read again because it had been evicted, from counters.

use std::collections::BTreeMap;

use crate::series::{Series, SeriesSet};

/// Pages of a cgroup that are read again after they were evicted, of version 1 and 2 (of files; older kernels do not
/// count these apart).
pub(crate) const REFAULTS: [&str; 4] = [
    "cgroups.memory.stat.total_workingset_refault_file",
    "cgroups.memory.stat.total_workingset_refault",
    "cgroups.memory.stat.workingset_refault_file",
    "cgroups.memory.stat.workingset_refault",
];

/// Bytes from one sample to the next, where there were any: from, to, bytes.
pub(crate) type Grown = Vec<(u64, u64, u64)>;

/// What was read again, by path of the cgroup.
#[derive(Debug, Default)]
pub(crate) struct Refaults(BTreeMap<String, Grown>);

impl Refaults {
    /// Those of the counters. A page has so many bytes.
    pub(crate) fn of(series: &SeriesSet, page_bytes: u64) -> Refaults {
        let mut refaults = Refaults::default();
        for counter in REFAULTS.iter().flat_map(|name| series.named(name)) {
            let grown = grown(series, counter, page_bytes.max(4096));
            if !grown.is_empty() {
                refaults.0.entry(counter.descriptor.instance.clone()).or_insert(grown);
            }
        }
        refaults
    }

    /// What a cgroup read again within a time. Growth between two samples is taken to be even.
    pub(crate) fn bytes(&self, cgroup: &str, (from_ns, to_ns): (u64, u64)) -> u64 {
        let grown = self.0.get(cgroup).map_or(&[][..], Vec::as_slice);
        let first = grown.partition_point(|growth| growth.1 <= from_ns);
        let within = grown[first..].iter().take_while(|growth| growth.0 < to_ns);
        let part = |&(since_ns, until_ns, bytes): &(u64, u64, u64)| {
            let overlap_ns = until_ns.min(to_ns) - since_ns.max(from_ns);
            u128::from(bytes) * u128::from(overlap_ns) / u128::from(until_ns - since_ns)
        };
        u64::try_from(within.map(part).sum::<u128>()).unwrap_or(u64::MAX)
    }
}

pub(crate) fn grown(series: &SeriesSet, counter: &Series, page_bytes: u64) -> Grown {
    let samples = series.headers().windows(2);
    let growth = samples.filter_map(|pair| {
        let pages = counter.growth(pair[0].sample, pair[1].sample).filter(|pages| *pages > 0)?;
        let (from_ns, to_ns) = (pair[0].at.monotonic_ns, pair[1].at.monotonic_ns);
        (from_ns < to_ns).then(|| (from_ns, to_ns, pages.saturating_mul(page_bytes)))
    });
    growth.collect()
}
