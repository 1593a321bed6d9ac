//! For whom a process ran that reclaimed memory: those that filled it.

use super::need::{Domain, Need};
use super::times::Times;
use super::users::users as users_of;
use super::weights::{Users, share};
use crate::blame::facts::run_index::RunIndex;
use crate::hashing::FastMap;

/// When processes ran within a reclaim, in slow operations, and whose memory it was.
#[derive(Debug, Default)]
pub(super) struct Reclaimed {
    times: Times<u32>,
    domains: FastMap<u32, Domain>,
}

impl Reclaimed {
    pub(super) fn add(&mut self, pid: u32, domain: Domain, time: (u64, u64)) {
        self.times.add(pid, time);
        self.domains.insert(pid, domain);
    }

    /// Call after the last one is added.
    pub(super) fn sort(&mut self) {
        self.times.sort();
    }

    /// Passes on what processes ran in order to reclaim memory to those that filled it: the share of their CPU time in
    /// that interval.
    pub(super) fn pass_on(&self, index: &RunIndex, users: &mut Users, span: (u64, u64)) {
        let reclaimed_ns = |pid: u32| self.times.within(&pid, span);
        let pids: Vec<u32> = users.keys().flatten().copied().filter(|pid| reclaimed_ns(*pid) > 0).collect();
        for pid in pids {
            let filled = users_of(index, &Need::Memory(self.domains[&pid]), span);
            let Some(ran) = users.get_mut(&Some(pid)).filter(|_| filled.values().any(|weight| *weight > 0)) else {
                continue;
            };
            let part = reclaimed_ns(pid) as f64 / index.usage.ran_ns(pid, span).max(reclaimed_ns(pid)) as f64;
            let passed = (*ran as f64 * part) as u128;
            *ran = ran.saturating_sub(passed);
            share(users, passed, &filled);
        }
        users.retain(|_, weight| *weight > 0);
    }
}

#[cfg(test)]
mod tests {
    use model::usage::{Resource, UsageRecord};

    use super::*;

    const MS: u64 = 1_000_000;

    /// A process that ran for 8 ms, 6 ms of them to reclaim what others had filled: a quarter of what it delayed stays
    /// its own.
    #[test]
    fn a_task_that_filled_the_memory_made_others_reclaim_it() {
        let mut index = RunIndex::default();
        let used = |resource, pid, bytes, busy_ns| UsageRecord {
            cpu: (resource == Resource::Cpu).then_some(1),
            pid: Some(pid),
            bytes,
            busy_ns,
            ..UsageRecord::new(resource, 20_000 * MS, 20_500 * MS)
        };
        let memory = |pid, bytes| used(Resource::Memory, pid, bytes, 0);
        for record in [used(Resource::Cpu, 7, 0, 8 * MS), memory(7, 1 << 20), memory(8, 3 << 20)] {
            assert!(index.usage.insert(&record, &mut index.names));
        }
        index.usage.sort();
        let mut reclaimed = Reclaimed::default();
        reclaimed.add(7, Domain::Everybody, (20_100 * MS, 20_106 * MS));
        reclaimed.sort();
        let after = |span| {
            let mut users: Users = [(None, 10), (Some(7), 400), (Some(9), 100)].into();
            reclaimed.pass_on(&index, &mut users, span);
            users.into_iter().collect::<Vec<_>>()
        };
        let within = after((20_000 * MS, 20_500 * MS));
        assert_eq!(within, [(None, 10), (Some(7), 100 + 75), (Some(8), 225), (Some(9), 100)]);
        assert_eq!(after((20_200 * MS, 20_500 * MS)), [(None, 10), (Some(7), 400), (Some(9), 100)]);
    }
}
