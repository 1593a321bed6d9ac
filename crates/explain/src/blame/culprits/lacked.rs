//! Who lacked a device as well as using it: a tenant that writes a little and waits for long, as the other victims do.

use std::collections::BTreeMap;

use model::block::DeviceNumber;

use super::times::Times;
use super::weights::{MANY_TIMES, Users};
use crate::blame::facts::names::Name;
use crate::blame::facts::run_index::RunIndex;
use crate::thresholds::WRITTEN_WITHIN_NS;

/// When the processes waited for each device, in slow operations.
#[derive(Debug, Default)]
pub(super) struct Lacked {
    waits: Times<(DeviceNumber, u32)>,
}

impl Lacked {
    pub(super) fn add(&mut self, device: DeviceNumber, pid: u32, wait: (u64, u64)) {
        self.waits.add((device, pid), wait);
    }

    /// Call after the last one is added.
    pub(super) fn sort(&mut self) {
        self.waits.sort();
    }

    /// Leaves out those that waited for the device for longer than it worked for them, and of whose cgroup another one
    /// had many times the use: without that cgroup, none of them would have waited.
    pub(super) fn acquit(
        &self,
        index: &RunIndex,
        device: DeviceNumber,
        users: &mut Users,
        (from_ns, to_ns): (u64, u64),
    ) {
        let cgroup = |pid: u32| index.tasks.cgroup(pid, to_ns);
        let mut by_cgroup: BTreeMap<Option<Name>, u128> = BTreeMap::new();
        for (pid, weight) in users.iter().filter_map(|(pid, weight)| Some(((*pid)?, weight))) {
            *by_cgroup.entry(cgroup(pid)).or_default() += weight;
        }
        let most = by_cgroup.values().copied().max().unwrap_or_default();
        let total: u128 = users.values().sum();
        let since_ns = from_ns.saturating_sub(WRITTEN_WITHIN_NS);
        let worked_ns = |weight: u128| (weight as f64 / total.max(1) as f64 * (to_ns - since_ns) as f64) as u64;
        users.retain(|pid, weight| {
            pid.is_none_or(|pid| {
                by_cgroup[&cgroup(pid)].saturating_mul(MANY_TIMES) > most
                    || self.waits.within(&(device, pid), (since_ns, to_ns)) <= worked_ns(*weight)
            })
        });
    }
}

#[cfg(test)]
mod tests {
    use model::stall::TaskRecord;

    use super::*;

    const S: u64 = 1_000_000_000;
    const DISK: DeviceNumber = DeviceNumber(7 << 20 | 1);

    /// Of four that use a disk beside a culprit: one that waits in the same way, one that never waits, one in the
    /// culprit's cgroup, and one that uses much itself.
    #[test]
    fn a_task_that_waits_and_uses_little_is_a_victim() {
        let mut index = RunIndex::default();
        for (pid, cgroup) in [(1, "/noisy"), (2, "/a"), (3, "/b"), (4, "/noisy"), (5, "/c")] {
            let task = TaskRecord {
                tid: pid,
                pid,
                name: "task".into(),
                cgroup: Some(cgroup.into()),
                started_by: None,
                role: None,
                container: None,
                io_cgroup: None,
                seen_ns: 0,
            };
            index.tasks.insert(&task, &mut index.names);
        }
        let mut lacked = Lacked::default();
        for pid in [1, 2, 4, 5] {
            lacked.add(DISK, pid, (20 * S, 22 * S));
        }
        lacked.sort();
        let mut users: Users =
            [(None, 1), (Some(1), 80), (Some(2), 10), (Some(3), 10), (Some(4), 1), (Some(5), 30)].into();
        lacked.acquit(&index, DISK, &mut users, (21 * S, 22 * S));
        assert_eq!(users.keys().copied().collect::<Vec<_>>(), [None, Some(1), Some(3), Some(4), Some(5)]);
    }
}
