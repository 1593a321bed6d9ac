//! Who used what, indexed by resource and time.

mod known;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use model::block::DeviceNumber;
use model::usage::{Resource, UsageRecord};

use crate::blame::facts::names::{Name, Names};
use crate::hashing::{FastMap, FastSet};

/// No interval is longer: the tracer ends one twice a second. A longer one would be searched for every wait.
const LONGEST_NS: u64 = 24 * 3600 * 1_000_000_000;
/// No interval has more bytes, requests or nanoseconds. Larger numbers come from damaged rows, and their products
/// exceed the range.
const MOST: u64 = 1 << 60;

/// What is scarce.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    Device(DeviceNumber),
    Cpu(u32),
    /// The CPUs that a process waited for.
    RunQueue(u32),
    Reads,
    Dirtied,
    Memory,
    Inodes,
    /// Blocks of the journal of the file system there.
    Journal(DeviceNumber),
}

impl Target {
    /// `None` where a row lacks what its resource needs.
    fn of(record: &UsageRecord) -> Option<Target> {
        Some(match record.resource {
            Resource::Cpu => Target::Cpu(record.cpu?),
            Resource::RunQueue => Target::RunQueue(record.waiting?),
            Resource::Reads => Target::Reads,
            Resource::Dirtied => Target::Dirtied,
            Resource::Memory => Target::Memory,
            Resource::Inodes => Target::Inodes,
            Resource::Journal => Target::Journal(record.device?),
            Resource::DeviceRead | Resource::DeviceWrite | Resource::DeviceOther | Resource::DeviceMetadata => {
                Target::Device(record.device?)
            }
        })
    }
}

/// What one process used of it within one interval.
#[derive(Debug, Clone)]
pub(crate) struct Used {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) resource: Resource,
    pub(crate) pid: Option<u32>,
    pub(crate) thread: Option<u32>,
    pub(crate) cgroup: Option<Name>,
    pub(crate) limit: Option<Name>,
    pub(crate) count: u64,
    pub(crate) bytes: u64,
    pub(crate) busy_ns: u64,
    pub(crate) throttled: u64,
}

/// A discard counts as this much: blk-throttle, too, takes it for a sector.
const DISCARD_BYTES: u64 = 512;

impl Used {
    /// Bytes that it moved. A discard has a length, but moves nothing.
    pub(crate) fn moved_bytes(&self) -> u64 {
        match self.resource {
            Resource::DeviceOther => self.bytes.min(self.count.saturating_mul(DISCARD_BYTES)),
            _ => self.bytes,
        }
    }
}

/// The use of all resources.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    /// By start.
    rows: FastMap<Target, Vec<Used>>,
    /// Of those, the rows of each process that have a cgroup.
    by_process: FastMap<(Target, u32), Vec<u32>>,
    /// CPU time of each process: start and end of an interval, and nanoseconds.
    runs: FastMap<u32, Vec<(u64, u64, u64)>>,
    /// Where intervals begin and end, in order: those of short-lived processes within those of others.
    borders: Vec<u64>,
    /// The longest interval of each resource.
    longest_ns: FastMap<Target, u64>,
    longest_run_ns: u64,
    /// Processes that used a device at any time.
    known: HashMap<DeviceNumber, HashSet<u32>>,
    /// Of those, the ones that read from it, and the cgroups that their reads counted for.
    readers: HashMap<DeviceNumber, HashMap<u32, BTreeSet<Name>>>,
    /// Processes whose writes of a device counted for a cgroup.
    writers: HashMap<(DeviceNumber, Name), HashSet<u32>>,
    /// Processes of which threads have rows.
    with_threads: FastSet<u32>,
    /// Cgroups of which a limit delayed requests of a device, and the cgroup with that limit.
    throttled: HashMap<DeviceNumber, BTreeMap<Name, Option<Name>>>,
    /// Cgroups whose limit holds for a use of memory.
    memory_limits: BTreeSet<Name>,
    /// Loop devices and partitions by the disk below.
    above: HashMap<DeviceNumber, BTreeSet<DeviceNumber>>,
}

impl Usage {
    /// Adds a row; `false` for an inconsistent one.
    pub(crate) fn insert(&mut self, record: &UsageRecord, names: &mut Names) -> bool {
        let Some(target) = Target::of(record) else { return false };
        let is_plausible = [record.count, record.bytes, record.busy_ns].iter().all(|amount| *amount <= MOST);
        let ns = record.end_ns.saturating_sub(record.start_ns);
        if !is_plausible || !(1..=LONGEST_NS).contains(&ns) {
            return false;
        }
        let cgroup = names.insert_some(record.cgroup.as_ref());
        self.know_user(target, record, cgroup);
        self.with_threads.extend(record.pid.filter(|_| record.thread.is_some()));
        let limit = names.insert_some(record.limit.as_ref());
        if let (Target::Device(device), true) = (target, record.throttled > 0) {
            self.throttled.entry(device).or_default().extend(cgroup.map(|cgroup| (cgroup, limit)));
        }
        self.memory_limits.extend(limit.filter(|_| target == Target::Memory));
        let longest_ns = self.longest_ns.entry(target).or_default();
        *longest_ns = ns.max(*longest_ns);
        self.borders.extend([record.start_ns, record.end_ns]);
        self.rows.entry(target).or_default().push(Used {
            start_ns: record.start_ns,
            end_ns: record.end_ns,
            resource: record.resource,
            pid: record.pid,
            thread: record.thread,
            cgroup,
            limit,
            count: record.count,
            bytes: record.bytes,
            busy_ns: record.busy_ns,
            throttled: record.throttled,
        });
        true
    }

    /// Who used a device, and how.
    fn know_user(&mut self, target: Target, record: &UsageRecord, cgroup: Option<Name>) {
        let Some(pid) = record.pid else { return };
        let device = match target {
            Target::Device(device) | Target::Journal(device) => Some(device),
            // Where it was written before the recording.
            Target::Dirtied => record.device,
            _ => None,
        };
        if let Some(device) = device {
            self.known.entry(device).or_default().insert(pid);
        }
        match (target, record.resource, cgroup) {
            (Target::Device(device), Resource::DeviceRead, cgroup) => {
                self.readers.entry(device).or_default().entry(pid).or_default().extend(cgroup);
            }
            (Target::Device(device), Resource::DeviceWrite, Some(cgroup)) => {
                self.writers.entry((device, cgroup)).or_default().insert(pid);
            }
            _ => {}
        }
    }

    /// Whether threads of a process have rows of their own.
    pub(crate) fn has_threads(&self, pid: u32) -> bool {
        self.with_threads.contains(&pid)
    }

    /// Call after the last insert.
    pub(crate) fn sort(&mut self) {
        self.rows.values_mut().for_each(|rows| rows.sort_by_key(|row| (row.start_ns, row.pid, row.resource)));
        for (target, rows) in &self.rows {
            for (row, at) in rows.iter().zip(0..).filter(|(row, _)| row.cgroup.is_some()) {
                self.by_process.entry((*target, row.pid.unwrap_or_default())).or_default().extend(row.pid.map(|_| at));
            }
        }
        for row in self.rows.iter().filter(|(target, _)| matches!(target, Target::Cpu(_))).flat_map(|(_, rows)| rows) {
            let runs = row.pid.map(|pid| self.runs.entry(pid).or_default());
            self.longest_run_ns = self.longest_run_ns.max(row.end_ns - row.start_ns);
            runs.into_iter().for_each(|runs| runs.push((row.start_ns, row.end_ns, row.busy_ns)));
        }
        self.runs.values_mut().for_each(|runs| runs.sort_unstable());
        self.borders.sort_unstable();
        self.borders.dedup();
    }

    /// Whether nothing was recorded.
    pub(crate) fn is_empty(&self) -> bool {
        self.borders.is_empty()
    }

    /// The time between two borders that holds all of a time: in it, the same intervals are known. `None` where there
    /// is none.
    pub(crate) fn span_of(&self, from_ns: u64, to_ns: u64) -> Option<(u64, u64)> {
        let after = self.borders.partition_point(|border| *border <= from_ns);
        let span = (*self.borders.get(after.checked_sub(1)?)?, *self.borders.get(after)?);
        Some(span).filter(|span| to_ns <= span.1)
    }

    /// The rows that overlap a time, and for how long each.
    pub(crate) fn between(&self, target: Target, from_ns: u64, to_ns: u64) -> impl Iterator<Item = (&Used, u64)> {
        let rows = self.rows.get(&target).map_or(&[][..], Vec::as_slice);
        let longest_ns = self.longest_ns.get(&target).copied().unwrap_or_default();
        let first = rows.partition_point(|row| row.start_ns.saturating_add(longest_ns) <= from_ns);
        let until = rows[first..].iter().take_while(move |row| row.start_ns < to_ns);
        until.filter_map(move |row| {
            let overlap_ns = row.end_ns.min(to_ns).saturating_sub(row.start_ns.max(from_ns));
            (overlap_ns > 0).then_some((row, overlap_ns))
        })
    }

    /// The CPU time of a process within a time. What it ran in an interval is taken to be even.
    pub(crate) fn ran_ns(&self, pid: u32, (from_ns, to_ns): (u64, u64)) -> u64 {
        let runs = self.runs.get(&pid).map_or(&[][..], Vec::as_slice);
        let first = runs.partition_point(|run| run.0.saturating_add(self.longest_run_ns) <= from_ns);
        let within = runs[first..].iter().take_while(|run| run.0 < to_ns);
        let part = |&(start_ns, end_ns, busy_ns): &(u64, u64, u64)| {
            let overlap_ns = end_ns.min(to_ns).saturating_sub(start_ns.max(from_ns));
            u128::from(busy_ns) * u128::from(overlap_ns) / u128::from(end_ns - start_ns)
        };
        u64::try_from(within.map(part).sum::<u128>()).unwrap_or(u64::MAX)
    }

    /// The row of a process that is the latest before a moment, else its first.
    pub(crate) fn latest(&self, target: Target, pid: u32, at_ns: u64) -> Option<&Used> {
        let rows = self.rows.get(&target)?;
        let its = self.by_process.get(&(target, pid))?;
        let after = its.partition_point(|&at| rows[at as usize].start_ns <= at_ns);
        its.get(after.saturating_sub(1)).map(|&at| &rows[at as usize])
    }

    /// The cgroup that a process's use of a device counts for, at a moment.
    pub(crate) fn cgroup_on(&self, device: DeviceNumber, pid: u32, at_ns: u64) -> Option<Name> {
        self.latest(Target::Device(device), pid, at_ns)?.cgroup
    }

    /// Whether a process wrote to a device at any time, in that cgroup.
    pub(crate) fn writes_in(&self, device: DeviceNumber, cgroup: Name, pid: u32) -> bool {
        self.writers.get(&(device, cgroup)).is_some_and(|pids| pids.contains(&pid))
    }

    /// Whether a process writes to what lies on a file of a device, and nothing written to the device counts for its
    /// cgroup: it comes down through the page cache, and counts for the kernel thread that makes these pages dirty.
    pub(crate) fn writes_through_pages(&self, device: DeviceNumber, pid: u32) -> bool {
        let above = self.on(device);
        let is_it = |(on, cgroup): &(DeviceNumber, Name)| {
            *on != device && above.contains(on) && !self.writers.contains_key(&(device, *cgroup))
        };
        self.writers.iter().any(|(key, pids)| pids.contains(&pid) && is_it(key))
    }

    /// Whether a process read from a device at any time, in that cgroup.
    pub(crate) fn reads_in(&self, device: DeviceNumber, cgroup: Name, pid: u32) -> bool {
        self.readers.get(&device).and_then(|of| of.get(&pid)).is_some_and(|cgroups| cgroups.contains(&cgroup))
    }

    /// Whether a process used a device in another cgroup.
    pub(crate) fn is_elsewhere(&self, device: DeviceNumber, cgroup: Name, pid: u32) -> bool {
        let reads = self.readers.get(&device).and_then(|of| of.get(&pid)).into_iter().flatten().any(|of| *of != cgroup);
        let mut writers = self.writers.iter().filter(|((on, of), _)| *on == device && *of != cgroup);
        reads || writers.any(|(_, pids)| pids.contains(&pid))
    }

    /// Whether a process used a device in such a cgroup: with cgroups of version 1, not the one in whose memory limits
    /// it is.
    pub(crate) fn is_in(&self, pid: u32, is_wanted: impl Fn(Name) -> bool) -> bool {
        let reads_in =
            || self.readers.values().filter_map(|of| of.get(&pid)).flatten().any(|&cgroup| is_wanted(cgroup));
        reads_in() || self.writers.iter().any(|((_, cgroup), pids)| pids.contains(&pid) && is_wanted(*cgroup))
    }

    /// The cgroup whose limit delayed requests of a device, where it is only one.
    pub(crate) fn throttled_cgroup(&self, device: DeviceNumber) -> Option<Name> {
        self.only_throttled(device).map(|(cgroup, _)| cgroup)
    }

    /// Whether limits delayed most of the writes of a device in a time.
    pub(crate) fn throttles_writes(&self, device: DeviceNumber, from_ns: u64, to_ns: u64) -> bool {
        let rows = self.between(Target::Device(device), from_ns, to_ns).map(|(used, _)| used);
        let writes = rows.filter(|used| used.resource == Resource::DeviceWrite);
        let (all, throttled) = writes.fold((0, 0), |sums, used| (sums.0 + used.count, sums.1 + used.throttled));
        throttled > 0 && throttled >= all / 2
    }

    /// The devices with requests that limits of a single cgroup delayed, and that cgroup.
    pub(crate) fn limit_cgroups(&self) -> impl Iterator<Item = (DeviceNumber, Name)> {
        let only =
            |device: &DeviceNumber| self.only_throttled(*device).map(|(of, limit)| (*device, limit.unwrap_or(of)));
        self.throttled.keys().filter_map(only)
    }

    /// With the cgroup that has the limit.
    pub(crate) fn only_throttled(&self, device: DeviceNumber) -> Option<(Name, Option<Name>)> {
        let cgroups = self.throttled.get(&device)?;
        cgroups.first_key_value().filter(|_| cgroups.len() == 1).map(|(cgroup, limit)| (*cgroup, *limit))
    }

    /// Whether limits delayed requests of a device, but none that counted for that cgroup.
    pub(crate) fn throttles_only_others(&self, device: DeviceNumber, cgroup: Name) -> bool {
        self.throttled.get(&device).is_some_and(|cgroups| !cgroups.contains_key(&cgroup))
    }

    /// Whether a limit delayed requests of a device that counted for that cgroup.
    pub(crate) fn throttles(&self, device: DeviceNumber, cgroup: Name) -> bool {
        self.throttled.get(&device).is_some_and(|cgroups| cgroups.contains_key(&cgroup))
    }

    /// Whether limits delayed requests of a device.
    pub(crate) fn is_limited(&self, device: DeviceNumber) -> bool {
        self.throttled.contains_key(&device)
    }

    /// Of a cgroup of which a limit delayed requests of a device: the cgroup with that limit, if it is known.
    pub(crate) fn limit_of(&self, device: DeviceNumber, cgroup: Name) -> Option<Option<Name>> {
        self.throttled.get(&device)?.get(&cgroup).copied()
    }

    /// The only device with delayed requests that a process used.
    pub(crate) fn only_limited_device_of(&self, pid: u32) -> Option<DeviceNumber> {
        let mut devices = self.throttled.keys().copied().filter(|device| self.knows(*device, pid));
        let first = devices.next()?;
        devices.next().is_none().then_some(first)
    }

    /// The devices with any use, but for those that others are on: these serve the same requests once more.
    pub(crate) fn uppermost(&self) -> impl Iterator<Item = DeviceNumber> {
        let devices = self.rows.keys().filter_map(|target| match target {
            Target::Device(device) => Some(*device),
            _ => None,
        });
        devices.filter(|device| !self.above.contains_key(device))
    }

    /// The device that a process uses: the uppermost, where those that it uses lie above one another. `None` where it
    /// uses several.
    pub(crate) fn only_device_of(&self, pid: u32) -> Option<DeviceNumber> {
        let its = |(device, pids): (&DeviceNumber, &HashSet<u32>)| pids.contains(&pid).then_some(*device);
        let devices: Vec<DeviceNumber> = self.known.iter().filter_map(its).collect();
        devices.iter().copied().find(|device| devices.iter().all(|other| self.is_on(*device, *other)))
    }

    /// The cgroups whose limits hold for any use of memory.
    pub(crate) fn memory_limits(&self) -> impl Iterator<Item = Name> {
        self.memory_limits.iter().copied()
    }

    /// A disk is below a loop device or a partition.
    pub(crate) fn put_above(&mut self, upper: DeviceNumber, lower: DeviceNumber) {
        self.above.entry(lower).or_default().insert(upper);
    }

    /// Whether a disk is that one, or is on it.
    pub(crate) fn is_on(&self, upper: DeviceNumber, lower: DeviceNumber) -> bool {
        // Nearly always one of these is the answer, and the set of all is not needed.
        upper == lower || (self.above.contains_key(&lower) && self.on(lower).contains(&upper))
    }

    /// A disk, and all that are on it.
    pub(crate) fn on(&self, lower: DeviceNumber) -> BTreeSet<DeviceNumber> {
        let mut found = vec![lower];
        let mut seen = BTreeSet::from([lower]);
        while let Some(lower) = found.pop() {
            let above = self.above.get(&lower).into_iter().flatten().copied();
            found.extend(above.filter(|device| seen.insert(*device)));
        }
        seen
    }

    /// The file systems whose journal was used.
    pub(crate) fn journals(&self) -> impl Iterator<Item = DeviceNumber> {
        self.rows.keys().filter_map(|target| match target {
            Target::Journal(device) => Some(*device),
            _ => None,
        })
    }

    /// The CPUs with any use.
    pub(crate) fn cpus(&self) -> impl Iterator<Item = Target> {
        self.rows.keys().copied().filter(|target| matches!(target, Target::Cpu(_)))
    }
}
