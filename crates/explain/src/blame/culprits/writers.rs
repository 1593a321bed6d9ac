//! Who made dirty what is written to a device later, by workers, or what was submitted before the recording.

use model::block::DeviceNumber;
use model::usage::Resource;

use super::need::Domain;
use super::used_within::{UsedWithin, known_on, weight};
use super::weights::{Users, WEIGHT};
use crate::blame::facts::names::Name;
use crate::blame::facts::storage::usage::Target;
use crate::thresholds::{DIRTY_EXPIRED_NS, WRITTEN_WITHIN_NS};

/// Workers wrote much for nobody who is known, if those who are known made less than this part (1/4) of it dirty.
const FEW: u128 = 4;
const MUCH_BYTES: u128 = 1 << 20;
/// Where kernel threads are.
const ROOT_CGROUP: &str = "/";

impl UsedWithin<'_> {
    /// Those that made dirty what was submitted before the recording, as far as they are known.
    pub(super) fn dirtiers(&self, device: DeviceNumber, written_bytes: u128) -> Users {
        let time = self.also_before(DIRTY_EXPIRED_NS);
        let dirtied = time.of(Target::Dirtied, |used| used.bytes, Domain::Everybody);
        let mut users = known_on(self.index, device, time.without_elsewhere(dirtied, device, Resource::DeviceWrite));
        let known = users.values().sum::<u128>();
        if known < written_bytes.max(1) {
            users.insert(None, written_bytes.max(1) - known);
        }
        users
    }

    /// What each process is known to have written to a device at about that time, else what it made dirty before.
    fn writers(&self, device: DeviceNumber, dirty_ns: u64) -> Users {
        let (before, around) = (self.also_before(dirty_ns), self.around());
        let dirtied = before.of(Target::Dirtied, |used| used.bytes, Domain::Everybody);
        let mut users = around.without_elsewhere(dirtied, device, Resource::DeviceWrite);
        let mut most = Users::new();
        for device in self.index.usage.on(device) {
            for (pid, written) in around.written_by_tasks(device) {
                let most = most.entry(pid).or_default();
                *most = written.max(*most);
            }
        }
        users.extend(most);
        users
    }

    /// What tasks wrote to one device. What is on it may be served by workers of which only the device above says who
    /// wrote.
    fn written_by_tasks(&self, device: DeviceNumber) -> Users {
        let mut written = Users::new();
        for (used, overlap_ns) in self.index.usage.between(Target::Device(device), self.from_ns, self.to_ns) {
            let is_write = used.resource == Resource::DeviceWrite;
            if is_write && used.pid.is_some_and(|pid| !self.is_worker(pid)) {
                *written.entry(used.pid).or_default() += weight(used, used.bytes, overlap_ns);
            }
        }
        written.retain(|_, weight| *weight > 0);
        written
    }

    pub(super) fn known_writers(&self, device: DeviceNumber) -> Users {
        known_on(self.index, device, self.writers(device, WRITTEN_WITHIN_NS))
    }

    /// Those that made dirty what workers wrote, as far as they are known: what they cannot have written is of unknown
    /// processes.
    pub(super) fn writers_of(&self, device: DeviceNumber, written_bytes: u128) -> Users {
        let total = |users: &Users| users.values().sum::<u128>();
        let lately = self.known_writers(device);
        if total(&lately) >= written_bytes {
            return lately;
        }
        let mut before = known_on(self.index, device, self.writers(device, DIRTY_EXPIRED_NS));
        let known = total(&before);
        if (1..written_bytes / FEW).contains(&known) && written_bytes >= MUCH_BYTES * WEIGHT {
            before.insert(None, written_bytes - known);
        }
        before
    }

    /// The writers that are known to write to a device in a cgroup; if none is, those that read there in it, else those
    /// that are not known to use the device in another cgroup: what these wrote counts elsewhere, or is not limited. In
    /// the root's, also those that write to what lies on a file of the device.
    pub(super) fn in_cgroup(&self, writers: &Users, device: DeviceNumber, cgroup: Option<Name>) -> Users {
        let (usage, devices) = (&self.index.usage, self.index.usage.on(device));
        let Some(cgroup) = cgroup else { return writers.clone() };
        let those = |is_it: &dyn Fn(DeviceNumber, u32) -> bool| {
            let is_inside = |pid| devices.iter().any(|device| is_it(*device, pid));
            let inside = writers.iter().filter(|(pid, _)| pid.is_some_and(is_inside));
            Some(inside.map(|(pid, weight)| (*pid, *weight)).collect::<Users>()).filter(|inside| !inside.is_empty())
        };
        let mut inside = those(&|device, pid| usage.writes_in(device, cgroup, pid))
            .or_else(|| those(&|device, pid| usage.reads_in(device, cgroup, pid)))
            .or_else(|| those(&|_, pid| !devices.iter().any(|device| usage.is_elsewhere(*device, cgroup, pid))))
            .unwrap_or_else(|| writers.clone());
        if self.index.names.get(cgroup) == ROOT_CGROUP {
            let through_pages = |pid: &Option<u32>| pid.is_some_and(|pid| usage.writes_through_pages(device, pid));
            inside.extend(writers.iter().filter(|(pid, _)| through_pages(pid)).map(|(pid, weight)| (*pid, *weight)));
        }
        // Those who are not known may be in any.
        inside.extend(writers.get(&None).map(|unknown| (None, *unknown)));
        inside
    }
}
