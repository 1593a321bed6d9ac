//! Processes that are known on a device.

use std::collections::BTreeSet;

use model::block::DeviceNumber;

use super::Usage;
use crate::blame::facts::names::Name;

impl Usage {
    /// Processes that wrote to a device, and the cgroups that this counted for.
    pub(crate) fn all_writers(&self) -> impl Iterator<Item = (u32, Name)> {
        self.writers.iter().flat_map(|((_, cgroup), pids)| pids.iter().map(|pid| (*pid, *cgroup)))
    }

    /// Processes that used a device at any time.
    pub(crate) fn users_of(&self, device: DeviceNumber) -> impl Iterator<Item = u32> {
        self.known.get(&device).into_iter().flatten().copied()
    }

    /// A process uses a device.
    pub(crate) fn know(&mut self, device: DeviceNumber, pid: u32) {
        self.known.entry(device).or_default().insert(pid);
    }

    /// Whether a process used a device at any time.
    pub(crate) fn knows(&self, device: DeviceNumber, pid: u32) -> bool {
        self.known.get(&device).is_some_and(|pids| pids.contains(&pid))
    }

    /// A process waited for a read of a device.
    pub(crate) fn know_reader(&mut self, device: DeviceNumber, pid: u32) {
        self.readers.entry(device).or_default().entry(pid).or_default();
    }

    /// Whether a process read from a device, or from one that is on it, at any time. If the cgroup that the reads
    /// counted for is known of both, it has to be the same.
    pub(crate) fn reads_from(&self, device: DeviceNumber, cgroup: Option<Name>, pid: u32) -> bool {
        let on_it = self.readers.iter().filter(|(upper, _)| self.is_on(**upper, device));
        let its: Vec<&BTreeSet<Name>> = on_it.filter_map(|(_, readers)| readers.get(&pid)).collect();
        let is_of = |cgroup| its.iter().any(|its| its.contains(&cgroup)) || its.iter().all(|its| its.is_empty());
        !its.is_empty() && cgroup.is_none_or(is_of)
    }
}
