//! The machine's CPU time over a job; the CPU time of the load alone is not recorded.

use std::collections::{BTreeMap, HashMap};

use model::metric::{MetricChange, MetricDescriptor, MetricId, SampleHeader};

/// The machine's counters, by fio's two kinds.
const COUNTERS: [(&str, Kind); 3] =
    [("stat.cpu.user", Kind::User), ("stat.cpu.nice", Kind::User), ("stat.cpu.system", Kind::System)];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    User,
    System,
}

/// Counters in clock ticks, as they change.
#[derive(Debug, Default)]
pub(super) struct CpuTimes {
    counters: HashMap<MetricId, (Kind, BTreeMap<u64, u64>)>,
    /// When each sample was taken.
    samples_ns: HashMap<u32, u64>,
}

/// CPU time of all CPUs together; `None` where unknown.
pub(super) struct CpuUsage {
    pub(super) user_ns: Option<u64>,
    pub(super) system_ns: Option<u64>,
}

impl CpuTimes {
    pub(super) fn counters(&mut self, descriptors: &[MetricDescriptor], samples: &[SampleHeader]) {
        for descriptor in descriptors {
            if let Some((_, kind)) = COUNTERS.iter().find(|(name, _)| *name == descriptor.name) {
                self.counters.insert(descriptor.id, (*kind, BTreeMap::new()));
            }
        }
        self.samples_ns = samples.iter().map(|sample| (sample.sample, sample.at.monotonic_ns)).collect();
    }

    pub(super) fn changes(&mut self, changes: &[MetricChange]) {
        for change in changes {
            let Some((_, values)) = self.counters.get_mut(&change.metric) else { continue };
            if let (Some(at_ns), Some(value)) = (self.samples_ns.get(&change.sample), change.value) {
                values.insert(*at_ns, value as u64);
            }
        }
    }

    /// From the last value before the one moment to the last before the other.
    pub(super) fn between(&self, from_ns: u64, to_ns: u64, ticks_per_s: u64) -> CpuUsage {
        let ticks = |(_, values): &(Kind, BTreeMap<u64, u64>)| {
            let before = values.range(..=from_ns).next_back().or_else(|| values.iter().next())?.1;
            Some(values.range(..=to_ns).next_back()?.1.saturating_sub(*before))
        };
        let of = |kind: Kind| {
            let mut ticks = self.counters.values().filter(|(its, _)| *its == kind).map(ticks).peekable();
            ticks.peek()?;
            let sum: u64 = ticks.sum::<Option<u64>>()?;
            sum.saturating_mul(1_000_000_000).checked_div(ticks_per_s)
        };
        CpuUsage { user_ns: of(Kind::User), system_ns: of(Kind::System) }
    }
}
