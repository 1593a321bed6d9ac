//! Reads that are repeated because others filled the memory that held the pages.

use std::collections::BTreeMap;

use super::need::{Domain, Need, memory_domain};
use super::weights::{MANY_TIMES, Users};
use crate::blame::facts::names::Name;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::usage::Target;
use crate::hashing::FastMap;
use crate::thresholds::{READ_AGAIN_BYTES, READ_AGAIN_PART, SAMPLED_WITHIN_NS};
use crate::waits::is_at_or_below;

/// Uses below this part of the total have no rows.
const UNRECORDED: u128 = 256;

/// Which part of what cgroups read they read again, and whether the whole machine can have evicted that: found once for
/// each time.
#[derive(Debug, Default)]
pub(super) struct Evicted(FastMap<(Name, (u64, u64)), (f64, bool)>);

impl Evicted {
    /// Of a read by a process through the page cache: the part of its time that those are to blame for who filled its
    /// memory, and that memory. `span`: an interval of the usage.
    pub(super) fn part(&mut self, index: &RunIndex, pid: u32, span: (u64, u64)) -> Option<(f64, Need)> {
        let cgroup = index.tasks.cgroup(pid, span.1)?;
        let (part, by_everybody) = *self.0.entry((cgroup, span)).or_insert_with(|| {
            let part = read_again(index, cgroup, span);
            (part, part > 0.0 && can_be_of_everybody(index, cgroup, span.1))
        });
        let domain = (part > 0.0).then(|| memory_domain(index, pid, span.1))?;
        (domain != Domain::Everybody || by_everybody).then_some((part, Need::Evicted(domain)))
    }
}

/// Whether the machine reclaimed enough by then to have evicted what a cgroup read again. Else somebody dropped it: by
/// drop_caches, force_empty or fadvise. Without the counters it may have.
fn can_be_of_everybody(index: &RunIndex, cgroup: Name, until_ns: u64) -> bool {
    let again = index.memory.refaults.bytes(index.names.get(cgroup), (0, until_ns.saturating_add(SAMPLED_WITHIN_NS)));
    let reclaimed = index.memory.reclaimed_bytes(until_ns.saturating_add(SAMPLED_WITHIN_NS));
    reclaimed.is_none_or(|bytes| bytes as f64 >= READ_AGAIN_PART * again as f64)
}

/// The part of what a cgroup reads at about that time that it had read before, 0 to 1.
pub(super) fn read_again(index: &RunIndex, cgroup: Name, (from_ns, to_ns): (u64, u64)) -> f64 {
    let (from_ns, to_ns) = (from_ns.saturating_sub(SAMPLED_WITHIN_NS), to_ns.saturating_add(SAMPLED_WITHIN_NS));
    let path = index.names.get(cgroup);
    let again = index.memory.refaults.bytes(path, (from_ns, to_ns));
    if again < READ_AGAIN_BYTES {
        return 0.0;
    }
    let (mut read, mut all) = (0, 0);
    for (used, overlap_ns) in index.usage.between(Target::Reads, from_ns, to_ns) {
        let bytes = u128::from(used.bytes) * u128::from(overlap_ns) / u128::from(used.end_ns - used.start_ns);
        all += bytes;
        if used.cgroup.is_some_and(|of| is_at_or_below(index.names.get(of), path)) {
            read += bytes;
        }
    }
    // Without rows, it read less than this.
    let read = u128::from(again).max(if read > 0 { read } else { all / UNRECORDED });
    Some(again as f64 / read as f64).filter(|part| *part >= READ_AGAIN_PART).unwrap_or_default()
}

/// Leaves out those whose cgroup reads again most of what it reads, where another one filled many times as much: they
/// fill memory again because it was taken from them.
pub(super) fn acquit(index: &RunIndex, users: &mut Users, span: (u64, u64)) {
    let cgroup = |pid: u32| index.tasks.cgroup(pid, span.1);
    let mut by_cgroup: BTreeMap<Option<Name>, u128> = BTreeMap::new();
    for (pid, weight) in users.iter().filter_map(|(pid, weight)| Some(((*pid)?, weight))) {
        *by_cgroup.entry(cgroup(pid)).or_default() += weight;
    }
    let most = by_cgroup.values().copied().max().unwrap_or_default();
    let is_victim = |cgroup: Option<Name>| cgroup.is_some_and(|cgroup| read_again(index, cgroup, span) > 0.5);
    by_cgroup.retain(|cgroup, filled| filled.saturating_mul(MANY_TIMES) <= most && is_victim(*cgroup));
    users.retain(|pid, _| pid.is_none_or(|pid| !by_cgroup.contains_key(&cgroup(pid))));
}

#[cfg(test)]
mod tests {
    use model::metric::{MetricChange, MetricDescriptor, MetricId, SampleHeader, Semantics, Unit};
    use model::stall::TaskRecord;
    use model::time::Moment;
    use model::usage::{Resource, UsageRecord};

    use super::super::need::Domain;
    use super::super::users::users;
    use super::*;
    use crate::blame::facts::storage::memory_limits::MemoryLimits;
    use crate::blame::facts::storage::refaults::REFAULTS;
    use crate::series::SeriesSet;

    const S: u64 = 1_000_000_000;
    const MIB: u64 = 1 << 20;

    /// Counters by name and cgroup that grow by so many MiB, in pages, in each second.
    fn memory(counters: &[(&str, &str, u64)]) -> MemoryLimits {
        let mut series = SeriesSet::default();
        for (id, (name, instance, _)) in (1..).map(MetricId).zip(counters) {
            let (name, instance) = ((*name).to_owned(), (*instance).to_owned());
            let (unit, semantics) = (Unit::Count, Semantics::Counter);
            series.describe(&[MetricDescriptor { id, name, instance, unit, semantics, device: None }], |_| true);
        }
        for sample in 0..60 {
            let at = Moment { monotonic_ns: u64::from(sample) * S, wall_ns: 0 };
            series.sample(SampleHeader { sample, at, late_ns: 0, cpu_ns: 0, took_ns: 0 });
            for (metric, (.., mib)) in (1..).map(MetricId).zip(counters) {
                let value = Some(i64::from(sample) * (mib * MIB / 4096) as i64);
                series.feed(&[MetricChange { sample, metric, value }]);
            }
        }
        MemoryLimits::of(&series, 4096)
    }

    fn index(read_again_mib: u64) -> RunIndex {
        with_limit(Some("/a"), memory(&[(REFAULTS[0], "/a/v", read_again_mib)]))
    }

    /// Process 7 of `/a/v` reads 10 MiB in each second, process 9 of `/a/e` 90 MiB.
    fn with_limit(limit: Option<&str>, memory: MemoryLimits) -> RunIndex {
        let mut index = RunIndex::default();
        index.memory = memory;
        for (pid, cgroup, mib) in [(7, "/a/v", 10), (9, "/a/e", 90)] {
            let cgroup = Some(cgroup.to_owned());
            let task = TaskRecord {
                tid: pid,
                pid,
                name: "task".into(),
                cgroup: cgroup.clone(),
                io_cgroup: None,
                started_by: None,
                role: None,
                container: None,
                seen_ns: 0,
            };
            index.tasks.insert(&task, &mut index.names);
            for (resource, second) in
                [Resource::Reads, Resource::Memory].into_iter().flat_map(|of| (15..25).map(move |at| (of, at)))
            {
                let used = UsageRecord {
                    pid: Some(pid),
                    cgroup: cgroup.clone(),
                    limit: limit.map(str::to_owned),
                    bytes: mib * MIB,
                    ..UsageRecord::new(resource, second * S, (second + 1) * S)
                };
                assert!(index.usage.insert(&used, &mut index.names));
            }
        }
        index.tasks.sort();
        index.usage.sort();
        index
    }

    #[test]
    fn what_is_read_again_is_of_those_who_filled_the_memory() {
        let span = (20 * S, 21 * S);
        let index_of_8 = index(8);
        let limit = Need::Evicted(Domain::Limit(index_of_8.names.find("/a").unwrap()));
        assert_eq!(Evicted::default().part(&index_of_8, 7, span), Some((0.8, limit.clone())));
        assert_eq!(Evicted::default().part(&index_of_8, 9, span), None, "it reads what it never read before");
        assert_eq!(Evicted::default().part(&index(2), 7, span), None, "the cache's ordinary turnover");
        assert_eq!(read_again(&index_of_8, index_of_8.names.find("/a/v").unwrap(), (40 * S, 41 * S)), 1.0);
        let filled = users(&index_of_8, &limit, span);
        assert_eq!(filled.keys().copied().collect::<Vec<_>>(), [Some(9)], "7 fills no more than it had");
        let mut filled: Users = [(Some(7), 10), (Some(9), 90)].into();
        acquit(&index_of_8, &mut filled, span);
        assert_eq!(filled.keys().copied().collect::<Vec<_>>(), [Some(9)], "7 reads because 9 takes its memory");
    }

    /// Without a limit, pages are evicted where the whole machine reclaims memory, or somebody drops them.
    #[test]
    fn nobody_filled_the_memory_of_a_machine_that_reclaims_nothing() {
        let (span, again) = ((20 * S, 21 * S), (REFAULTS[0], "/a/v", 8));
        let part = |counters: &[(&str, &str, u64)]| {
            Evicted::default().part(&with_limit(None, memory(counters)), 7, span).map(|(part, _)| part)
        };
        assert_eq!(part(&[again]), Some(0.8), "not sampled");
        assert_eq!(part(&[again, ("vmstat.pgsteal_kswapd", "", 0)]), None);
        assert_eq!(part(&[again, ("vmstat.pgsteal_kswapd", "", 0), ("vmstat.pgsteal_direct", "", 1)]), None);
        assert_eq!(part(&[again, ("vmstat.pgsteal_kswapd", "", 1), ("vmstat.pgsteal_direct", "", 2)]), Some(0.8));
    }
}
