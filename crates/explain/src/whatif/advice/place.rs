//! Where time was lost, and what is known of that place.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use model::block::DeviceNumber;
use model::cause::Cause;
use model::run::{Device, RunDescription};
use model::wait_kind::WaitKind;
use remedy::{Facts, Remedy, Target};

use super::super::change::reads_files;
use super::super::memory::{is_at_limit, limit_of};
use super::absences::concerned;
use crate::blame::{ClassTimes, Culprit, Explanation};
use crate::waits::{Freezer, MemoryLimit, Path, Stopped, Waits};

/// Where the time of some causes was lost, and what is known of that place.
pub(super) struct Place<'a> {
    pub(super) facts: Facts,
    pub(super) target: Target,
    /// The memory limit that those who waited reached. With cgroups of version 1, an I/O limit is that of another
    /// cgroup.
    pub(super) limit: Option<&'a MemoryLimit>,
}

impl<'a> Place<'a> {
    pub(super) fn of(explanation: &Explanation, waits: &'a Waits, causes: &[Cause], run: &RunDescription) -> Place<'a> {
        let (all, classes) = concerned(explanation, waits);
        let culprits = || all.iter().filter(|culprit| causes.contains(&culprit.cause));
        let number = culprits().find_map(|culprit| culprit.device).or_else(|| disk_of_waits(waits, causes));
        let disk = number.and_then(|number| run.device(number));
        let (kind, mount) = culprits().find_map(|of| of.file_system.as_deref()?.split_once(" on ")).unzip();
        let cgroup = most_stalled_cgroup(waits, causes);
        let limit = limit_of(waits, cgroup.as_deref());
        let place = Place {
            facts: Facts {
                scheduler: disk.and_then(|disk| disk.scheduler.clone()),
                file_system: kind.map(str::to_owned),
                rotational: disk.and_then(|disk| disk.rotational),
                cgroup_version: run.limits.cgroup_version.or(run.host.cgroup_version),
                operations: with_causes(classes, causes),
                io_limits: io_limits(waits, disk),
                memory_limit: is_at_memory_limit(waits, causes, cgroup.as_deref()),
                memory_high: is_above_memory_high(waits, causes),
                refaults: Some(limit.is_some_and(MemoryLimit::evicts_what_is_read_again)),
                mount_options: mount.map(|point| mount_options(run, point)).unwrap_or_default(),
                others: cost_others_most(culprits(), &waits.command),
                strict_limit: disk.and_then(|disk| disk.strict_limit),
                kernel: Some(run.host.kernel_release.clone()),
                ..of_waits(waits, causes)
            },
            target: Target {
                device: disk.map(|disk| disk.name.clone()),
                number: number.map(|number| format!("{}:{}", number.major(), number.minor())),
                cgroup: limit_on(waits, number, causes).or_else(|| cgroup_of_limit(culprits())).or(cgroup),
                mount: mount.map(str::to_owned),
                ..Target::default()
            },
            limit,
        };
        place.with_stop(stopped(waits).filter(|_| causes.contains(&Cause::Stopped)))
    }

    /// What was stopped, and with which cgroup it was frozen.
    fn with_stop(mut self, stopped: Option<&Stopped>) -> Place<'a> {
        let frozen = stopped.and_then(|stopped| stopped.freezer.as_ref());
        let unit = frozen.and_then(Freezer::unit);
        self.facts.unit = Some(unit.is_some());
        self.facts.freezer_version = frozen.and_then(|frozen| frozen.version).or(self.facts.cgroup_version);
        self.target.cgroup = frozen.map(|frozen| frozen.cgroup.clone()).or(self.target.cgroup);
        self.target.pid = stopped.map(|stopped| stopped.pid.to_string());
        self.target.unit = unit.map(str::to_owned);
        self
    }
}

impl Place<'_> {
    /// Whether a remedy depends on a memory limit that the run does not show. What is evicted matters to reads alone.
    pub(super) fn lacks_memory_limit(&self, remedy: &Remedy) -> bool {
        let reads = || self.facts.operations.iter().any(|class| reads_files(class));
        let requires = &remedy.requires;
        let depends = requires.memory_limit == Some(true) || requires.refaults == Some(true) && reads();
        depends && self.facts.memory_limit.is_none()
    }
}

/// What the waits show without the disk and the machine.
fn of_waits(waits: &Waits, causes: &[Cause]) -> Facts {
    Facts {
        programs: programs(waits, causes),
        pinned: Some(waits.pinned),
        sqlite: sqlite(waits, causes),
        file_size_kept: keep_size(waits, causes),
        deadlock: Some(waits.deadlock),
        ..Facts::default()
    }
}

/// The cgroup of an I/O limit or CPU quota: with version 1 it may be in another hierarchy than the one in which tasks
/// are known.
fn cgroup_of_limit<'a>(mut culprits: impl Iterator<Item = &'a Culprit>) -> Option<String> {
    let used_it_up = culprits
        .find(|culprit| matches!(culprit.cause, Cause::IoThrottle | Cause::CpuThrottle) && culprit.cgroup.is_some());
    used_it_up.and_then(|culprit| culprit.cgroup.clone())
}

/// The cgroup whose limit on a disk, or CPU quota, delayed others for the operations: its requests, or those of
/// writeback, are not theirs.
fn limit_on(waits: &Waits, disk: Option<DeviceNumber>, causes: &[Cause]) -> Option<String> {
    let of_disk = disk.filter(|_| causes.contains(&Cause::IoThrottle)).and_then(|disk| waits.limit_cgroups.get(&disk));
    let of_cpu = || waits.quota_cgroups.values().next().filter(|_| causes.contains(&Cause::CpuThrottle));
    of_disk.or_else(of_cpu).cloned()
}

fn mount_options(run: &RunDescription, point: &str) -> Vec<String> {
    let mount = run.mounts.iter().rev().find(|mount| mount.point == point);
    mount.map(|mount| mount.options.split(',').map(str::to_owned).collect()).unwrap_or_default()
}

/// Whether culprits cost others more than themselves; `None` where there are none. How many of its processes compute at
/// once is the recorded command's own choice: those that wait for a CPU wait for it.
fn cost_others_most<'a>(culprits: impl Iterator<Item = &'a Culprit>, command: &BTreeSet<u32>) -> Option<bool> {
    let is_own = |culprit: &Culprit| {
        culprit.cause == Cause::CpuWait && culprit.task.as_ref().is_some_and(|task| command.contains(&task.tid))
    };
    let own_ns = |culprit: &Culprit| if is_own(culprit) { culprit.time_ns } else { culprit.own_ns };
    let times = culprits.map(|culprit| (culprit.time_ns, own_ns(culprit)));
    let (all_ns, own_ns) = times.fold((0, 0), |(all_ns, own_ns), (ns, own)| (all_ns + ns, own_ns + own));
    (all_ns > 0).then_some(own_ns <= all_ns / 2)
}

fn disk_of_waits(waits: &Waits, causes: &[Cause]) -> Option<DeviceNumber> {
    let mut steps = waits.paths.iter().flatten().filter(|step| causes.contains(&step.cause));
    steps.find_map(|step| step.device)
}

/// The kinds of operations that lost time to these causes.
fn with_causes(classes: &[ClassTimes], causes: &[Cause]) -> Vec<String> {
    let have = |class: &&ClassTimes| class.causes.iter().any(|time| causes.contains(&time.cause));
    classes.iter().filter(have).map(|class| class.class.clone()).collect()
}

/// Where a task hangs at the limit of its memory cgroup, without the OOM killer, the samples may have missed that it
/// was reached.
fn is_at_memory_limit(waits: &Waits, causes: &[Cause], cgroup: Option<&str>) -> Option<bool> {
    let hangs = |cause: Cause| cause == Cause::OutOfMemory && causes.contains(&cause);
    let hangs = waits.paths.iter().flatten().any(|step| hangs(step.cause));
    if hangs { Some(true) } else { is_at_limit(waits, cgroup) }
}

/// Whether most of the waits with these causes were above a `memory.high`, which the hard limit does not concern;
/// `None`: not seen.
fn is_above_memory_high(waits: &Waits, causes: &[Cause]) -> Option<bool> {
    let (mut above_ns, mut all_ns) = (0u64, 0u64);
    for &(path, ns) in waits.operations.iter().flat_map(|operation| &operation.pieces) {
        if let Some(step) = waits.paths[path as usize].iter().find(|step| causes.contains(&step.cause)) {
            all_ns = all_ns.saturating_add(ns);
            above_ns = above_ns.saturating_add(if step.kind == Some(WaitKind::AboveMemoryHigh) { ns } else { 0 });
        }
    }
    (above_ns > all_ns / 2).then_some(true)
}

/// The limits that cgroups have on a disk.
fn io_limits(waits: &Waits, disk: Option<&Device>) -> Vec<String> {
    let of_disk = waits.io_limits.iter().filter(|(identity, _)| disk.is_some_and(|disk| disk.identity == *identity));
    of_disk.map(|(_, kind)| (*kind).to_owned()).collect()
}

/// Names of the processes that waited for these causes, or behind another wait.
fn programs(waits: &Waits, causes: &[Cause]) -> Vec<String> {
    let steps = waits.paths.iter().flatten().filter(|step| causes.contains(&step.cause));
    let names: BTreeSet<&str> = steps.filter_map(|step| waits.tasks.get(&step.tid)?.split('/').next()).collect();
    names.into_iter().map(str::to_owned).collect()
}

/// The journals of SQLite that tasks use which waited for these causes, or were waited for then.
fn sqlite(waits: &Waits, causes: &[Cause]) -> Vec<String> {
    let has_cause = |path: &&Path| path.iter().any(|step| causes.contains(&step.cause));
    let steps = waits.paths.iter().filter(has_cause).flatten();
    let names: BTreeSet<&str> = steps.filter_map(|step| Some(waits.sqlite.get(&step.tid)?.name())).collect();
    names.into_iter().map(str::to_owned).collect()
}

/// Whether most of the time that calls which sync a file waited for these causes is of threads whose files keep their
/// size; `None`: unknown of most.
fn keep_size(waits: &Waits, causes: &[Cause]) -> Option<bool> {
    let (mut known, mut unknown_ns): ([u64; 2], u64) = ([0; 2], 0);
    for &(path, ns) in waits.operations.iter().flat_map(|operation| &operation.pieces) {
        let steps = waits.paths[path as usize].iter().filter(|step| step.syncs && causes.contains(&step.cause));
        for step in steps {
            match waits.keep_sizes.get(&step.tid) {
                Some(kept) => known[usize::from(*kept)] += ns,
                None => unknown_ns += ns,
            }
        }
    }
    let [changed_ns, kept_ns] = known;
    (changed_ns + kept_ns > unknown_ns).then_some(kept_ns > changed_ns)
}

/// The stopped thread that cost the most time.
fn stopped(waits: &Waits) -> Option<&Stopped> {
    let mut lost: BTreeMap<u32, u64> = BTreeMap::new();
    for &(path, ns) in waits.operations.iter().flat_map(|operation| &operation.pieces) {
        let stops = waits.paths[path as usize].iter().filter(|step| step.cause == Cause::Stopped);
        stops.for_each(|step| *lost.entry(step.tid).or_default() += ns);
    }
    let (tid, _) = lost.into_iter().max_by_key(|(tid, ns)| (*ns, Reverse(*tid)))?;
    waits.stopped.get(&tid)
}

/// The cgroup whose operations lost the most time to these causes.
pub(super) fn most_stalled_cgroup(waits: &Waits, causes: &[Cause]) -> Option<String> {
    let mut lost: HashMap<u32, u64> = HashMap::new();
    for operation in &waits.operations {
        let has_cause = |path: u32| waits.paths[path as usize].iter().any(|step| causes.contains(&step.cause));
        let ns: u64 = operation.pieces.iter().filter(|(path, _)| has_cause(*path)).map(|(_, ns)| ns).sum();
        if let Some(cgroup) = operation.cgroup {
            *lost.entry(cgroup).or_default() += ns;
        }
    }
    let most = lost.into_iter().filter(|(_, ns)| *ns > 0).max_by_key(|(cgroup, ns)| (*ns, Reverse(*cgroup)));
    most.and_then(|(cgroup, _)| waits.names.get(cgroup as usize).cloned())
}
