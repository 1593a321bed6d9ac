//! Use of resources within a time.

use std::collections::BTreeMap;

use model::block::DeviceNumber;
use model::usage::Resource;

use super::evicted::read_again;
use super::need::{Domain, Need, is_below};
use super::weights::{MANY_TIMES, Users, WEIGHT, add, share};
use crate::blame::facts::names::Name;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::usage::{Target, Used};
use crate::thresholds::{CPU_USED_WITHIN_NS, MEMORY_FILLED_WITHIN_NS, QUOTA_PERIOD_NS, WRITTEN_WITHIN_NS};

/// Memory of an inode and its name: about that of ext4's or XFS's.
const INODE_BYTES: u64 = 1024;

/// What workers did, by the cgroup that it counted for.
type ByCgroup = BTreeMap<Option<Name>, u128>;

/// Uses of a device, by the processes that may have caused them.
#[derive(Default)]
struct SumsOfDevice {
    users: Users,
    metadata: Users,
    /// By workers.
    reads: ByCgroup,
    written: ByCgroup,
    written_bytes: u128,
    /// Writes that were submitted before the recording, and small ones of many processes.
    before: u128,
    before_bytes: u128,
}

impl SumsOfDevice {
    /// Adds a use: its amount, and the bytes that it moved.
    fn add(&mut self, used: &Used, is_by_worker: bool, (amount, moved): (u128, u128)) {
        if is_by_worker && used.resource == Resource::DeviceWrite {
            self.written_bytes += moved;
        }
        *(match (is_by_worker, used.resource) {
            (_, Resource::DeviceWrite) if used.pid.is_none() => {
                self.before_bytes += moved;
                &mut self.before
            }
            (_, Resource::DeviceMetadata) => self.metadata.entry(used.pid).or_default(),
            (false, _) => self.users.entry(used.pid).or_default(),
            (true, Resource::DeviceRead) => self.reads.entry(used.cgroup).or_default(),
            (true, _) => self.written.entry(used.cgroup).or_default(),
        }) += amount;
    }
}

/// A time in a run.
pub(super) struct UsedWithin<'a> {
    pub(super) index: &'a RunIndex,
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
}

impl UsedWithin<'_> {
    /// The users of a resource.
    pub(super) fn users(&self, need: &Need) -> Users {
        match need {
            Need::Device(device) => self.of_device(*device, None, |used| amount(need, used), Domain::Everybody),
            Need::Flush(device) => self.of_flush(*device),
            Need::Limit { device, writes, domain, .. } => {
                self.of_device(*device, *writes, |used| amount(need, used), *domain)
            }
            Need::Cpu { cpu, waiting, except } => self.of_cpu(*cpu, *waiting, *except),
            Need::CpuOfHolder { cpu, holder } => self.of_cpu_and_holder(*cpu, *holder),
            Need::Quota(cgroup) => self.of_quota(*cgroup),
            Need::Dirty(device) => self.of_dirty_pages(*device),
            Need::DirtyOf(domain) => {
                self.also_before(WRITTEN_WITHIN_NS).of(Target::Dirtied, |used| used.bytes, *domain)
            }
            Need::Memory(domain) => self.also_before(MEMORY_FILLED_WITHIN_NS).fillers(*domain),
            // What was filled long before, such as locked memory, takes the room as well.
            Need::Evicted(domain) => {
                let before = UsedWithin { from_ns: 0, ..*self };
                before.without_repeated_reads(before.fillers(*domain))
            }
        }
    }

    fn fillers(&self, domain: Domain) -> Users {
        let mut users = self.of(Target::Memory, |used| used.bytes, domain);
        add(&mut users, self.of(Target::Inodes, |used| used.count.saturating_mul(INODE_BYTES), domain));
        users
    }

    /// A process that reads evicted pages again fills no more memory than before.
    fn without_repeated_reads(&self, mut users: Users) -> Users {
        let reads = self.of(Target::Reads, |used| used.bytes, Domain::Everybody);
        for (pid, weight) in &mut users {
            let (Some(read), Some(cgroup)) =
                (reads.get(pid), pid.and_then(|pid| self.index.tasks.cgroup(pid, self.to_ns)))
            else {
                continue;
            };
            let again = read_again(self.index, cgroup, (self.from_ns, self.to_ns));
            *weight = weight.saturating_sub((*read as f64 * again) as u128);
        }
        users.retain(|_, weight| *weight > 0);
        users
    }

    /// A flush, and the record of a journal that it precedes, take as long as the device needs to write what is in its
    /// cache: their time is of those who wrote that.
    fn of_flush(&self, device: DeviceNumber) -> Users {
        let busy = |used: &Used| used.busy_ns;
        let written = self.of_device(device, Some(true), Used::moved_bytes, Domain::Everybody);
        let moves = |used: &Used| used.moved_bytes() > 0 && used.resource != Resource::DeviceMetadata;
        let mut users =
            self.of_device(device, None, |used| if moves(used) { busy(used) } else { 0 }, Domain::Everybody);
        let all = self.of_device(device, None, busy, Domain::Everybody);
        let flushes = all.values().sum::<u128>().saturating_sub(users.values().sum());
        if written.is_empty() {
            return all;
        }
        share(&mut users, flushes, &written);
        users
    }

    pub(super) fn also_before(&self, ns: u64) -> UsedWithin<'_> {
        UsedWithin { from_ns: self.from_ns.saturating_sub(ns), ..*self }
    }

    pub(super) fn around(&self) -> UsedWithin<'_> {
        UsedWithin { to_ns: self.to_ns.saturating_add(WRITTEN_WITHIN_NS), ..self.also_before(WRITTEN_WITHIN_NS) }
    }

    /// Those that ran while the process waited; where none is known, those that ran on the CPU about then.
    fn of_cpu(&self, cpu: Option<u32>, waiting: u32, except: Option<u32>) -> Users {
        let of = |target: Target| self.of(target, |used| used.busy_ns, Domain::Everybody);
        let meanwhile = of(Target::RunQueue(waiting));
        if meanwhile.keys().any(Option::is_some) {
            return self.without_fellow_victims(meanwhile);
        }
        let mut users = cpu.map(|cpu| of(Target::Cpu(cpu))).unwrap_or_default();
        if users.is_empty() {
            self.index.usage.cpus().for_each(|cpu| add(&mut users, of(cpu)));
        }
        users.retain(|pid, _| except.is_none() || *pid != except);
        users
    }

    /// Those that ran while the holder of a lock waited, and the holder itself, which others waited for when it ran.
    fn of_cpu_and_holder(&self, cpu: Option<u32>, holder: u32) -> Users {
        let mut users = self.of_cpu(cpu, holder, Some(holder));
        if users.is_empty() {
            return users;
        }
        for target in self.index.usage.cpus() {
            let mut ran = self.of(target, |used| used.busy_ns, Domain::Everybody);
            ran.retain(|pid, _| *pid == Some(holder));
            add(&mut users, ran);
        }
        users
    }

    /// Without those that lacked the CPU themselves, and of whose cgroup another one had many times the time: alone,
    /// they would have been done before.
    fn without_fellow_victims(&self, mut users: Users) -> Users {
        let cgroup = |pid: u32| self.index.tasks.cgroup(pid, self.to_ns);
        let mut by_cgroup: ByCgroup = BTreeMap::new();
        for (pid, weight) in users.iter().filter_map(|(pid, weight)| Some(((*pid)?, weight))) {
            *by_cgroup.entry(cgroup(pid)).or_default() += weight;
        }
        let most = by_cgroup.values().copied().max().unwrap_or_default();
        users.retain(|pid, ran| {
            pid.is_none_or(|pid| {
                by_cgroup[&cgroup(pid)].saturating_mul(MANY_TIMES) > most || !self.lacked_cpu(pid, *ran)
            })
        });
        users
    }

    /// Whether a process waited for longer than it ran, also just before: who ran has waited until then. `ran` is known
    /// of it.
    fn lacked_cpu(&self, pid: u32, ran: u128) -> bool {
        let time = self.also_before(CPU_USED_WITHIN_NS);
        let waits = self.index.usage.between(Target::RunQueue(pid), time.from_ns, time.to_ns);
        let waited: u128 = waits.map(|(used, overlap_ns)| weight(used, used.busy_ns, overlap_ns)).sum();
        waited > ran && {
            let ran_ns = self.index.usage.ran_ns(pid, (time.from_ns, time.to_ns));
            waited > u128::from(ran_ns) * WEIGHT
        }
    }

    /// Those that ran in a cgroup or below it, also in the period before.
    fn of_quota(&self, cgroup: Name) -> Users {
        let mut users = Users::new();
        let before = self.also_before(QUOTA_PERIOD_NS);
        for cpu in self.index.usage.cpus() {
            for (used, overlap_ns) in self.index.usage.between(cpu, before.from_ns, before.to_ns) {
                let is_in = |used: Name| is_below(self.index.names.get(used), self.index.names.get(cgroup));
                if used.pid.is_some() && used.cgroup.is_some_and(is_in) {
                    *users.entry(used.pid).or_default() += weight(used, used.busy_ns, overlap_ns);
                }
            }
        }
        users.retain(|_, weight| *weight > 0);
        users
    }

    /// What is written back to a device was made dirty there, and what is written later takes the room now. What
    /// processes made dirty says less: a page counts as all of its large folio, and its device is not known.
    fn of_dirty_pages(&self, device: Option<DeviceNumber>) -> Users {
        let dirtied = || self.of(Target::Dirtied, |used| used.bytes, Domain::Everybody);
        let Some(device) = device else { return dirtied() };
        let written = |time: &UsedWithin<'_>| {
            let users = time.of_device(device, Some(true), Used::moved_bytes, Domain::Everybody);
            Some(users).filter(|users| users.keys().any(Option::is_some))
        };
        let written = written(self).or_else(|| written(&self.around()));
        written.unwrap_or_else(|| {
            known_on(self.index, device, self.without_elsewhere(dirtied(), device, Resource::DeviceWrite))
        })
    }

    pub(super) fn of(&self, target: Target, amount: impl Fn(&Used) -> u64, domain: Domain) -> Users {
        let mut users = Users::new();
        for (used, overlap_ns) in self.index.usage.between(target, self.from_ns, self.to_ns) {
            if is_in(domain, used) {
                *users.entry(used.pid).or_default() += weight(used, amount(used), overlap_ns);
            }
        }
        users.retain(|_, weight| *weight > 0);
        users
    }

    /// Users of a device. What workers did is divided among those that they may have worked for.
    pub(super) fn of_device(
        &self,
        device: DeviceNumber,
        writes: Option<bool>,
        amount: impl Fn(&Used) -> u64,
        domain: Domain,
    ) -> Users {
        let mut sums = SumsOfDevice::default();
        for (used, overlap_ns) in self.index.usage.between(Target::Device(device), self.from_ns, self.to_ns) {
            if is_in(domain, used) && is_of_direction(writes, used) {
                let moved = weight(used, used.bytes, overlap_ns);
                sums.add(used, self.is_by_worker(used), (weight(used, amount(used), overlap_ns), moved));
            }
        }
        let SumsOfDevice { mut users, metadata, reads, mut written, written_bytes, before, before_bytes } = sums;
        self.add_metadata(device, metadata, &mut users, written.entry(None).or_default());
        for (cgroup, total) in reads {
            divide(&mut users, total, &self.readers(device, cgroup));
        }
        written.retain(|_, total| *total > 0);
        if !written.is_empty() {
            let writers = self.writers_of(device, written_bytes);
            for (cgroup, total) in written {
                divide(&mut users, total, &self.in_cgroup(&writers, device, cgroup));
            }
        }
        if before > 0 {
            share(&mut users, before, &self.dirtiers(device, before_bytes));
        }
        users.retain(|_, weight| *weight > 0);
        users
    }

    /// Writes of metadata, by submitter: of those who filled the journals. Of a file system without a known journal
    /// (btrfs) tasks submit what they log or commit, and what workers submit is added to their writes.
    fn add_metadata(&self, device: DeviceNumber, metadata: Users, users: &mut Users, by_workers: &mut u128) {
        let journals = self.of_journals(device);
        if !journals.is_empty() {
            return share(users, metadata.values().sum(), &journals);
        }
        for (pid, weight) in metadata {
            let is_worker = pid.is_none_or(|pid| self.is_worker(pid));
            *(if is_worker { &mut *by_workers } else { users.entry(pid).or_default() }) += weight;
        }
    }

    /// Those who filled the journals of file systems on a disk, also just before.
    fn of_journals(&self, device: DeviceNumber) -> Users {
        let before = self.also_before(WRITTEN_WITHIN_NS);
        let (mut users, mut by_workers) = (Users::new(), Users::new());
        for journal in self.index.usage.journals() {
            if !self.index.usage.is_on(journal, device) {
                continue;
            }
            for (pid, weight) in before.of(Target::Journal(journal), |used| used.count, Domain::Everybody) {
                let is_worker = pid.is_some_and(|pid| self.is_worker(pid));
                let users = if is_worker { &mut by_workers } else { &mut users };
                *users.entry(pid).or_default() += weight;
            }
        }
        let by_workers = by_workers.values().sum();
        if by_workers > 0 {
            divide(&mut users, by_workers, &before.known_writers(device));
        }
        users
    }

    /// Those that a worker may have read for, on behalf of a cgroup: what they read in all, without what they read
    /// elsewhere.
    fn readers(&self, device: DeviceNumber, cgroup: Option<Name>) -> Users {
        let mut readers = self.of(Target::Reads, |used| used.bytes, Domain::Everybody);
        readers.retain(|pid, _| pid.is_some_and(|pid| self.index.usage.reads_from(device, cgroup, pid)));
        self.without_elsewhere(readers, device, Resource::DeviceRead)
    }

    /// Takes away what processes are known to have read from, or written to, other devices.
    pub(super) fn without_elsewhere(&self, mut users: Users, device: DeviceNumber, resource: Resource) -> Users {
        let usage = &self.index.usage;
        for other in usage.uppermost().filter(|other| !usage.is_on(*other, device) && !usage.is_on(device, *other)) {
            for (used, overlap_ns) in usage.between(Target::Device(other), self.from_ns, self.to_ns) {
                if let Some(rest) = users.get_mut(&used.pid).filter(|_| used.resource == resource) {
                    *rest = rest.saturating_sub(weight(used, used.bytes, overlap_ns));
                }
            }
        }
        users
    }

    fn is_by_worker(&self, used: &Used) -> bool {
        let is_unknown_other = used.resource == Resource::DeviceOther && used.pid.is_none();
        used.pid.map_or(is_unknown_other, |pid| self.is_worker(pid))
    }

    pub(super) fn is_worker(&self, pid: u32) -> bool {
        self.index.tasks.is_worker(pid, self.to_ns, &self.index.names)
    }
}

/// Adds what workers did to the users, in proportion to what may have caused it. Where no cause is known, it is of
/// unknown processes.
fn divide(users: &mut Users, total: u128, causes: &Users) {
    if total == 0 {
        return;
    }
    let known = users.values().sum::<u128>();
    if causes.values().sum::<u128>() > 0 {
        share(users, total, causes);
    } else if known < total / MANY_TIMES {
        // Else in the proportion of what the known users used themselves: of many times that, nothing is known.
        *users.entry(None).or_default() += total;
    }
}

/// Those that used a device at any time. Processes that are not known on the device are innocent.
pub(super) fn known_on(index: &RunIndex, device: DeviceNumber, mut users: Users) -> Users {
    let devices = index.usage.on(device);
    users.retain(|pid, _| pid.is_some_and(|pid| devices.iter().any(|device| index.usage.knows(*device, pid))));
    users
}

/// How much a process used of what is needed of a device.
pub(super) fn amount(need: &Need, used: &Used) -> u64 {
    match need {
        Need::Limit { by_count: true, .. } => used.count,
        Need::Limit { .. } => used.moved_bytes(),
        _ => used.busy_ns,
    }
}

/// Whether a use of a device counts for a limit in one direction; `None`: any does.
fn is_of_direction(writes: Option<bool>, used: &Used) -> bool {
    writes.is_none_or(|writes| writes != (used.resource == Resource::DeviceRead))
}

/// Whether a use of the device counts where that is needed: for a limit, only what it holds for.
pub(super) fn is_needed(need: &Need, used: &Used) -> bool {
    match need {
        Need::Limit { writes, domain, .. } => is_in(*domain, used) && is_of_direction(*writes, used),
        _ => true,
    }
}

/// The part of a use that is within the time: it is taken to be even.
pub(super) fn weight(used: &Used, amount: u64, overlap_ns: u64) -> u128 {
    u128::from(amount) * u128::from(overlap_ns) * WEIGHT / u128::from(used.end_ns - used.start_ns)
}

fn is_in(domain: Domain, used: &Used) -> bool {
    match domain {
        Domain::Everybody => true,
        Domain::Limit(limit) => used.limit == Some(limit),
        Domain::Cgroup(cgroup) => used.cgroup == Some(cgroup),
    }
}
