//! Who used what: the programs' sums, and each process's own, as rows of the intervals between two looks at them.

mod before;
mod cgroups;
mod processes;
mod rows;
mod run_queues;
mod sums;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use libbpf_rs::Object;
use model::block::DeviceNumber;
use model::usage::{Resource, UsageRecord};

use super::relative::Relative;
use crate::roots::Roots;
use cgroups::Cgroups;
use processes::Processes;
use rows::{largest, within_life};
use sums::{Sums, Used};

/// Interval between two looks.
const INTERVAL_NS: u64 = 500_000_000;
/// The cgroup of a process that ran for less in an interval is not looked up: it uses up no quota.
const LEAST_CPU_NS: u64 = 1_000_000;

/// What was used between two looks. A process comes with the time at which it began.
pub(super) struct Usage {
    pub(super) now_ns: u64,
    /// All processes that are known, also those that used nothing.
    pub(super) started: Vec<(u32, u64)>,
    /// Those that used something.
    pub(super) users: BTreeSet<(u32, u64)>,
    /// The process of each row, and its name as far as known.
    pub(super) names: Vec<(u32, Option<String>)>,
    pub(super) rows: Vec<UsageRecord>,
}

/// The last look, with which the next one is compared.
pub(super) struct UsageReader {
    since_ns: u64,
    is_first: bool,
    proc: PathBuf,
    sums: Sums,
    processes: Processes,
    cgroups: Cgroups,
}

impl UsageReader {
    pub(super) fn new(roots: &Roots, now_ns: u64) -> UsageReader {
        let cgroups = Cgroups::new(roots);
        UsageReader {
            since_ns: now_ns,
            is_first: true,
            proc: roots.proc.clone(),
            sums: Sums::default(),
            processes: Processes::default(),
            cgroups,
        }
    }

    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.since_ns) >= INTERVAL_NS
    }

    /// What was used since the last look, and by whom.
    pub(super) fn take(&mut self, object: &Object, now_ns: u64) -> Usage {
        let span_ns = (std::mem::replace(&mut self.since_ns, now_ns), now_ns);
        self.cgroups.age();
        let processes = self.processes.take(object, span_ns);
        let mut names: HashMap<u32, Option<String>> = HashMap::new();
        let mut rows = Vec::new();
        processes.iter().for_each(|one| rows.extend(self.rows_of_process(one.pid, one.amounts(), span_ns)));
        for used in self.sums.take(object) {
            let process = self.processes.process_of(object, used.tid);
            if let Some((pid, name)) = &process {
                names.entry(*pid).or_insert_with(|| name.clone());
            }
            rows.push(self.row_of_sum(&used, process.map(|(pid, _)| pid), span_ns));
        }
        for (row, name) in run_queues::take(object, &self.processes, span_ns) {
            names.extend(row.pid.map(|pid| (pid, name)));
            rows.push(row);
        }
        let mut rows = largest(rows);
        if std::mem::take(&mut self.is_first) {
            rows.extend(self.rows_of_before(span_ns));
        }
        for row in &mut rows {
            let life_ns = row.pid.map(|pid| self.processes.life(object, pid));
            life_ns.into_iter().for_each(|life_ns| within_life(row, life_ns));
        }
        let users = self.users(object, &rows);
        let mut name_of = |pid| names.remove(&pid).flatten().or_else(|| self.processes.name(pid));
        let names = rows.iter().filter_map(|row| row.pid).map(|pid| (pid, name_of(pid))).collect();
        Usage { now_ns, started: self.processes.all().chain(users.iter().copied()).collect(), users, names, rows }
    }

    /// A process has a row for each resource, and is looked at once.
    fn users(&self, object: &Object, rows: &[UsageRecord]) -> BTreeSet<(u32, u64)> {
        let begun = |pid| Some((pid, self.relative(object, pid)?.start_ns));
        rows.iter().filter_map(|row| row.pid.and_then(begun)).collect()
    }

    /// A process that is known, or was at its end.
    pub(super) fn relative(&self, object: &Object, pid: u32) -> Option<Relative> {
        self.processes.relative(object, pid)
    }

    /// What processes had made dirty shortly before the recording.
    fn rows_of_before(&mut self, (begin_ns, now_ns): (u64, u64)) -> Vec<UsageRecord> {
        let mut rows = Vec::new();
        // What later ones wrote is in the first rows.
        let older = self.processes.writers().filter(|(_, start_ns, _)| *start_ns < begin_ns);
        for before::Writer { pid, since_ns, bytes } in before::writers(older, now_ns) {
            let device = before::disk_written(&self.proc, pid);
            let of_process = self.rows_of_process(pid, [(Resource::Dirtied, bytes)], (since_ns, now_ns));
            rows.extend(of_process.into_iter().map(|row| UsageRecord { device, ..row }));
        }
        rows
    }

    /// What a process read, made dirty and filled.
    fn rows_of_process<const N: usize>(
        &mut self,
        pid: u32,
        amounts: [(Resource, u64); N],
        span_ns: (u64, u64),
    ) -> Vec<UsageRecord> {
        let some = amounts.into_iter().filter(|(_, bytes)| *bytes > 0);
        let some: Vec<_> = some.collect();
        if some.is_empty() {
            return Vec::new();
        }
        let place = self.cgroups.of_memory(pid);
        let row = |(resource, bytes)| UsageRecord {
            pid: Some(pid),
            cgroup: place.cgroup.clone(),
            limit: place.limit.clone(),
            bytes,
            ..UsageRecord::new(resource, span_ns.0, span_ns.1)
        };
        some.into_iter().map(row).collect()
    }

    fn row_of_sum(&mut self, used: &Used, pid: Option<u32>, span_ns: (u64, u64)) -> UsageRecord {
        let thread = pid.is_some_and(|pid| pid != used.tid).then_some(used.tid);
        let row = UsageRecord {
            pid,
            thread: thread.filter(|_| used.resource.is_device()),
            count: used.count,
            bytes: used.bytes,
            busy_ns: used.busy_ns,
            throttled: used.throttled,
            ..UsageRecord::new(used.resource, span_ns.0, span_ns.1)
        };
        let device = DeviceNumber(used.target);
        let place = match used.resource {
            Resource::Cpu => {
                let pid = pid.filter(|_| used.busy_ns >= LEAST_CPU_NS);
                let place = pid.map(|pid| self.cgroups.of_cpu(pid)).unwrap_or_default();
                return UsageRecord { cpu: Some(used.target), cgroup: place.cgroup, limit: place.limit, ..row };
            }
            Resource::Journal => return UsageRecord { device: Some(device), ..row },
            Resource::Inodes => pid.map(|pid| self.cgroups.of_memory(pid)).unwrap_or_default(),
            resource => {
                let writes = match resource {
                    Resource::DeviceRead => Some(false),
                    Resource::DeviceWrite => Some(true),
                    _ => None,
                };
                match used.throttled {
                    0 => self.cgroups.of_device(used.cgroup, (device, writes), used.tid),
                    _ => self.cgroups.of_throttled(used.cgroup, (device, writes), used.tid),
                }
            }
        };
        let device = used.resource.is_device().then_some(device);
        UsageRecord { device, cgroup: place.cgroup, limit: place.limit, ..row }
    }
}
