//! A change, and what it makes of a piece of time.

use std::collections::BTreeSet;

use model::block::DeviceNumber;
use model::cause::Cause;
use model::effect::{Edge, Effect};
use model::system_call::{traits, traits_of};
use model::wait_kind::WaitKind;

use crate::blame::PAGE_FAULT;
use crate::waits::{Path, Step, Waiting, Waits, is_at_or_below};

/// What is changed.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// The waits of an edge.
    Edge {
        /// Which, and how.
        effect: Effect,
        /// Only those whose kind ([`crate::waits::Step::kind`]) is one of these; empty: all.
        of: Vec<WaitKind>,
    },
    /// A process or cgroup is absent.
    Absent(Absence),
    /// Pages that a memory cgroup reads again stay in memory.
    Refaults(Refaults),
}

impl Change {
    /// Whether a limit is gone. Calls that waited for it follow one another at once then, and are quicker than after a
    /// sleep: by how much is unknown (docs/WHATIF.md).
    pub(super) fn lifts_limit(&self) -> bool {
        matches!(self, Change::Edge { effect, .. } if effect.edge == Edge::IoLimit && effect.factor.is_none())
    }
}

/// What a memory cgroup reads again because its limit evicted it.
#[derive(Debug, Clone, PartialEq)]
pub struct Refaults {
    /// Path of the cgroup.
    pub cgroup: String,
    /// Part of what it reads, 0 to 1.
    pub share: f64,
}

/// Whether an operation reads files through the page cache.
pub(super) fn reads_files(operation: &str) -> bool {
    operation == PAGE_FAULT || traits_of(operation).has(traits::READS_FILE)
}

/// The absence of a process or cgroup.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Absence {
    /// Name of the process, or of all processes of that name that are not of the recorded command.
    pub task: Option<String>,
    /// Its id, where only one is meant.
    pub pid: Option<u32>,
    /// Its cgroup.
    pub cgroup: Option<String>,
    /// The container that this is of, in words.
    pub container: Option<String>,
    /// Its threads, where they are known. What others wait for while these hold it does not take place.
    pub threads: BTreeSet<u32>,
    /// What it is of a server whose answers the operations await: its checkpointer, its child that writes a snapshot.
    /// It can do that at another time, or less of it at once, but not be absent.
    pub duty: Option<String>,
    /// Its share, 0 to 1, of the time that operations lost to a cause on a disk. What lacked room for dirty pages may
    /// have lacked it because of another disk.
    pub shares: Vec<(Cause, Option<DeviceNumber>, f64)>,
    /// Most of what others lost to it were waits for locks that it holds for as long as it wants, or for a server that
    /// computes for it: to hold these for a shorter time, or to compute elsewhere, is the same to them.
    pub costs_by_locks_or_work: bool,
    /// Part of what the operations read, 0 to 1, that they read again because it filled their memory cgroup.
    pub evicts: Option<f64>,
}

/// The part of a piece's time that remains, 0 to 1.
pub(super) fn remains(change: &Change, path: &Path) -> f64 {
    match change {
        Change::Edge { effect, of } => {
            // A commit that waits for a discard goes with the discard.
            let is_for_discard =
                effect.edge == Edge::Journal && path.iter().any(|step| step.kind == Some(WaitKind::Discard));
            // The program asked for it, however the file system is mounted.
            let is_asked_for = effect.edge == Edge::SyncMount && path.iter().any(|step| step.syncs);
            if !is_for_discard && !is_asked_for && path.iter().any(|step| is_changed(*effect, of, step)) {
                rest(*effect)
            } else {
                1.0
            }
        }
        Change::Absent(absence) => {
            let evicted = absence.evicts.filter(|_| is_read(path)).unwrap_or(0.0);
            1.0 - absence.share(path).max(evicted)
        }
        Change::Refaults(refaults) if is_read(path) => 1.0 - refaults.share,
        Change::Refaults(_) => 1.0,
    }
}

/// Whether a change can concern an operation at all.
pub(super) fn concerns(change: &Change, waits: &Waits, operation: &Waiting) -> bool {
    let name = |number: u32| waits.names.get(number as usize).map_or("", String::as_str);
    let refaults = match change {
        Change::Refaults(refaults) => refaults,
        Change::Edge { effect, .. } if effect.edge == Edge::SyncMount => {
            return !reads_files(name(operation.class));
        }
        Change::Edge { .. } | Change::Absent(_) => return true,
    };
    let is_in_cgroup = operation.cgroup.is_some_and(|cgroup| is_at_or_below(name(cgroup), &refaults.cgroup));
    let throttled_read = |step: &Step| step.cause == Cause::IoThrottle && step.kind == Some(WaitKind::Read);
    let reads = || operation.pieces.iter().any(|(path, _)| waits.paths[*path as usize].iter().any(throttled_read));
    // A shell waits for a command that reads: its call is wait4.
    is_in_cgroup && (reads_files(name(operation.class)) || reads())
}

/// Whether a path ends in a request that may be a read.
fn is_read(path: &Path) -> bool {
    let is_of_request = |step: &Step| Edge::Device.changes(step.cause) || step.cause == Cause::IoThrottle;
    path.last().is_some_and(|step| is_of_request(step) && !step.kind.is_some_and(WaitKind::writes))
}

/// How many times as high the limit becomes that an operation itself waited for. Where one who used a part of a limit
/// is absent, that part is left to others.
pub(super) fn raised_limit(change: &Change, path: &Path) -> Option<f64> {
    let [only] = path.as_slice() else { return None };
    match change {
        Change::Edge { effect, of } if effect.edge == Edge::IoLimit && is_changed(*effect, of, only) => effect.factor,
        Change::Absent(absence) if only.cause == Cause::IoThrottle => {
            Some(1.0 / (1.0 - absence.share(path))).filter(|factor| *factor > 1.0 && factor.is_finite())
        }
        _ => None,
    }
}

/// Whether a step is one of the waits that are changed. One of an unknown kind counts as such, but for discards and
/// work, which are known.
pub(super) fn is_changed(effect: Effect, of: &[WaitKind], step: &Step) -> bool {
    let is_unknown = step.kind.is_none() && !matches!(effect.edge, Edge::Discard | Edge::Work);
    effect.edge.changes(step.cause)
        && (effect.edge != Edge::Sync || step.syncs)
        && (effect.edge.occasion().is_none() || effect.edge.occasion() == step.occasion)
        && (effect.edge != Edge::OrderedData || step.kind == Some(WaitKind::OrderedData))
        && (of.is_empty() || is_unknown || step.kind.is_some_and(|kind| of.contains(&kind)))
}

fn rest(effect: Effect) -> f64 {
    effect.factor.map_or(0.0, |factor| 1.0 / factor)
}

impl Absence {
    /// Whether a thread is of what is absent. Another process of the same name is not, nor is the recorded command,
    /// which may run the same program.
    pub(super) fn has(&self, waits: &Waits, tid: u32) -> bool {
        let process = waits.tasks.get(&tid).and_then(|name| name.rsplit_once('/'));
        let pid = process.and_then(|(_, pid)| pid.parse().ok());
        match self.pid {
            Some(wanted) => pid == Some(wanted),
            None => {
                let is_named = self.task.is_some() && process.map(|(name, _)| name) == self.task.as_deref();
                is_named && !pid.is_some_and(|pid| waits.command.contains(&pid))
            }
        }
    }

    /// What waits for one of its threads, all; else by the operation's own cause and disk, as root blockers are.
    pub(super) fn share(&self, path: &Path) -> f64 {
        let Some(first) = path.first() else { return 0.0 };
        if self.is_awaited(path) {
            return 1.0;
        }
        let of = |(cause, of, _): &&(Cause, Option<DeviceNumber>, f64)| {
            *cause == first.cause && *of == domain(first.cause, first.blamed)
        };
        let shares = self.shares.iter().filter(of).map(|(.., share)| share);
        shares.sum::<f64>().clamp(0.0, 1.0)
    }
}

impl Absence {
    /// Whether a piece of time is a wait for one of its threads.
    pub(super) fn is_awaited(&self, path: &Path) -> bool {
        (1..path.len()).any(|at| self.threads.contains(&path[at].tid) && !self.is_before_another(path, at))
    }

    /// Whether it waits there for the same lock as the task before it, which another one holds: without it, that task
    /// waits for the other one.
    fn is_before_another(&self, path: &Path, at: usize) -> bool {
        let is_lock = |step: &Step| step.cause == Cause::Lock && step.kind == path[at].kind;
        let holder = path.get(at + 1);
        is_lock(&path[at - 1]) && is_lock(&path[at]) && holder.is_some_and(|holder| !self.threads.contains(&holder.tid))
    }
}

/// The disk of which those have shares who waited for a cause. The limit of dirty pages is one for all disks: pages for
/// a slow one fill it.
pub(super) fn domain(cause: Cause, disk: Option<DeviceNumber>) -> Option<DeviceNumber> {
    disk.filter(|_| cause != Cause::DirtyThrottle)
}

/// Whether a change shortens service in front of a limit: a closed loop under that limit waits for as much longer.
pub(super) fn is_absorbed_by_limit(change: &Change) -> bool {
    match change {
        Change::Edge { effect, .. } => matches!(effect.edge, Edge::Device | Edge::SchedulerQueue | Edge::RequestWait),
        Change::Absent(_) | Change::Refaults(_) => false,
    }
}
