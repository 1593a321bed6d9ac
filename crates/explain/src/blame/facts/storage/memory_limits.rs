//! Memory cgroups that were at their limit, from counters: how much they read again because it had been evicted.

use std::collections::{BTreeMap, BTreeSet};

use crate::blame::facts::names::Names;
use crate::blame::facts::storage::dirty_limit;
use crate::blame::facts::storage::io_limits::is_limit;
use crate::blame::facts::storage::refaults::{Grown, REFAULTS, Refaults, grown};
use crate::blame::facts::storage::usage::{Target, Usage};
use crate::series::{Series, SeriesSet};
use crate::thresholds::MEMORY_LIMIT_REACHED_PART;
use crate::waits::{MemoryLimit, is_at_or_below};

/// Counters of cgroups of version 1 and 2: the limit, and what is used of it.
const LIMIT: [&str; 2] = ["cgroups.memory.limit_in_bytes", "cgroups.memory.max"];
const USED: [&str; 2] = ["cgroups.memory.usage_in_bytes", "cgroups.memory.current"];
/// Pages of anonymous memory that are swapped in again.
const SWAPPED_IN: [&str; 2] =
    ["cgroups.memory.stat.total_workingset_refault_anon", "cgroups.memory.stat.workingset_refault_anon"];
/// Pages that the machine as a whole reclaimed: what a cgroup reclaims at its limit does not count there.
const RECLAIMED: [&str; 2] = ["vmstat.pgsteal_kswapd", "vmstat.pgsteal_direct"];
/// What is above is no limit (v1 has one of 2^63 bytes by default).
const UNLIMITED: i64 = 1 << 60;

/// Whether limits, of cgroups and of dirty pages, are made from that metric.
pub fn is_of_limits(metric: &str) -> bool {
    [&LIMIT[..], &USED, &REFAULTS, &SWAPPED_IN, &RECLAIMED].iter().any(|names| names.contains(&metric))
        || is_limit(metric)
        || dirty_limit::is_limit(metric)
}

/// The limits that were reached, the cgroups whose limits were sampled, and what cgroups read again, also without a
/// limit.
#[derive(Debug, Default)]
pub(crate) struct MemoryLimits {
    reached: Vec<Reached>,
    sampled: BTreeSet<String>,
    pub(crate) refaults: Refaults,
    /// What the machine reclaimed, from one sample to the next; `None` where it was not sampled.
    reclaimed: Option<Grown>,
}

#[derive(Debug)]
struct Reached {
    cgroup: String,
    bytes: u64,
    refaulted_bytes: u64,
    swapped_in_bytes: u64,
    /// When refaults were counted.
    counted_ns: (u64, u64),
}

impl MemoryLimits {
    /// Those of the counters. A page has so many bytes.
    pub(crate) fn of(series: &SeriesSet, page_bytes: u64) -> MemoryLimits {
        let (Some(first), Some(last)) = (series.headers().first(), series.headers().last()) else {
            return MemoryLimits::default();
        };
        let (from, to) = (first.sample, last.sample);
        let named = |names: &'static [&'static str]| names.iter().flat_map(|name| series.named(name));
        let reached = named(&LIMIT).filter_map(|limit| {
            let cgroup = &limit.descriptor.instance;
            let is_of = |one: &&Series| one.descriptor.instance == *cgroup;
            let bytes = limit.max(from, to).filter(|bytes| (1..UNLIMITED).contains(bytes))?;
            let used = named(&USED).filter(is_of).filter_map(|used| used.max(from, to)).max()?;
            if (used as f64) < MEMORY_LIMIT_REACHED_PART * bytes as f64 {
                return None;
            }
            let counter = named(&REFAULTS).find(is_of);
            let (pages, spans) = counter.map(|counter| counter.present_growth(from, to)).unwrap_or_default();
            let swapped_in = named(&SWAPPED_IN).find(is_of).map(|counter| counter.present_growth(from, to).0);
            let bytes_of = |pages: u64| pages.saturating_mul(page_bytes.max(4096));
            let time = |sample| series.time_of(sample).unwrap_or(0);
            let counted_ns = spans.first().zip(spans.last()).map(|(first, last)| (time(first.0), time(last.1)));
            Some(Reached {
                cgroup: cgroup.clone(),
                bytes: bytes as u64,
                refaulted_bytes: bytes_of(pages),
                swapped_in_bytes: bytes_of(swapped_in.unwrap_or_default()),
                counted_ns: counted_ns.unwrap_or_default(),
            })
        });
        let sampled = named(&LIMIT).map(|limit| limit.descriptor.instance.clone());
        let refaults = Refaults::of(series, page_bytes);
        let mut counters = named(&RECLAIMED).map(|counter| grown(series, counter, page_bytes.max(4096))).peekable();
        let reclaimed = counters.peek().is_some().then(|| counters.flatten().collect());
        MemoryLimits { reached: reached.collect(), sampled: sampled.collect(), refaults, reclaimed }
    }

    /// What the machine as a whole reclaimed until a moment, bytes; `None` where it was not sampled.
    pub(crate) fn reclaimed_bytes(&self, until_ns: u64) -> Option<u64> {
        let grown = self.reclaimed.as_ref()?.iter().filter(|(from_ns, ..)| *from_ns < until_ns);
        Some(grown.fold(0, |sum, (.., bytes)| sum.saturating_add(*bytes)))
    }

    /// The cgroups whose limits were sampled, whether or not they were reached.
    pub(crate) fn sampled(&self) -> &BTreeSet<String> {
        &self.sampled
    }

    /// Whether that cgroup's own limit was reached.
    pub(crate) fn is_reached(&self, cgroup: &str) -> bool {
        self.reached.iter().any(|reached| reached.cgroup == cgroup)
    }

    /// With what their cgroups read and filled. `other`: the name of a process that is not of the recorded command.
    pub(crate) fn with_usage(
        &self,
        usage: &Usage,
        names: &Names,
        other: impl Fn(u32) -> Option<String>,
    ) -> Vec<MemoryLimit> {
        let of = |reached: &Reached| {
            let below = |target, (from_ns, to_ns)| {
                usage
                    .between(target, from_ns, to_ns)
                    .map(|(used, _)| used)
                    .filter(|used| used.cgroup.is_some_and(|cgroup| is_at_or_below(names.get(cgroup), &reached.cgroup)))
            };
            let sum = |target, time| below(target, time).fold(0, |sum: u64, used| sum.saturating_add(used.bytes));
            let mut filled_by: BTreeMap<String, u64> = BTreeMap::new();
            for used in below(Target::Memory, (0, u64::MAX)) {
                if let Some(name) = used.pid.and_then(&other) {
                    *filled_by.entry(name).or_default() += used.bytes;
                }
            }
            MemoryLimit {
                cgroup: reached.cgroup.clone(),
                bytes: reached.bytes,
                refaulted_bytes: reached.refaulted_bytes,
                swapped_in_bytes: reached.swapped_in_bytes,
                read_bytes: sum(Target::Reads, reached.counted_ns),
                filled_bytes: sum(Target::Memory, (0, u64::MAX)),
                filled_by,
            }
        };
        self.reached.iter().map(of).collect()
    }
}
