//! Who serves the requests of a device that is no hardware: the worker of a loop device, the server of a disk of the
//! network.

use std::collections::HashMap;

use model::block::DeviceNumber;
use model::stall::{Awaits, StallKind};

use super::RunIndex;
use crate::blame::facts::covered::{Covered, innermost};
use crate::blame::facts::rows::Row;
use crate::blame::facts::storage::disks::{loop_of, network_disk_of};

impl RunIndex {
    pub(super) fn find_workers(&mut self) {
        let mut workers: HashMap<DeviceNumber, Vec<Covered>> = HashMap::new();
        for (row, at) in self.rows.iter().zip(0..).filter(|(row, _)| row.kind == StallKind::OffCpu) {
            let device = row.work.and_then(|work| loop_of(self.names.get(work)));
            let Some(device) = device else { continue };
            workers.entry(device).or_default().push((row.start_ns, row.end_ns, at));
        }
        self.find_network_servers(&mut workers);
        self.workers = workers.into_iter().map(|(device, rows)| (device, innermost(rows))).collect();
    }

    /// Loop devices, each with a disk that its worker waited for: the file is there. Through the page cache no request
    /// has one beneath it.
    pub(super) fn below_workers(&self) -> impl Iterator<Item = (DeviceNumber, DeviceNumber)> {
        let pair = |row: &Row| {
            let device = loop_of(self.names.get(row.work?))?;
            Some((device, self.request(row)?.device)).filter(|(upper, lower)| upper != lower)
        };
        self.rows.iter().filter_map(pair)
    }

    /// The kernel's worker receives the answers of a disk of the network. What its server, if that is a process of this
    /// machine, waited for until it answered is what the disk's requests waited for.
    fn find_network_servers(&self, workers: &mut HashMap<DeviceNumber, Vec<Covered>>) {
        let numbers: HashMap<&str, DeviceNumber> =
            self.disk_names.iter().map(|(at, name)| (name.as_str(), *at)).collect();
        for row in self.rows.iter().filter(|row| row.kind == StallKind::OffCpu) {
            let disk = row.work.and_then(|work| network_disk_of(self.names.get(work)));
            let Some(&device) = disk.and_then(|disk| numbers.get(disk)) else { continue };
            let Some(server) = self.waker(row) else { continue };
            let rows = self.rows_between(server, row.start_ns, row.runnable_ns);
            let is_busy =
                |sleep: &Row| sleep.kind == StallKind::OffCpu && !self.awaits(sleep).is_some_and(Awaits::is_idle);
            let sleeps = rows.filter(|(_, sleep)| is_busy(sleep));
            let sleeps = sleeps.map(|(at, sleep)| (sleep.start_ns, sleep.end_ns, at));
            workers.entry(device).or_default().extend(sleeps);
        }
    }

    /// Sleeps of the workers that serve a loop device or a disk of the network, in order of time, clipped to a time.
    pub(crate) fn workers_between(&self, device: DeviceNumber, from_ns: u64, to_ns: u64) -> Vec<Covered> {
        let Some(rows) = self.workers.get(&device) else { return Vec::new() };
        let first = rows.partition_point(|&(_, end_ns, _)| end_ns <= from_ns);
        let inside = rows[first..].iter().take_while(|&&(start_ns, ..)| start_ns < to_ns);
        inside.map(|&(start_ns, end_ns, row)| (start_ns.max(from_ns), end_ns.min(to_ns), row)).collect()
    }
}
