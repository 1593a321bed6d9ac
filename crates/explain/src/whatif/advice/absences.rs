//! Whose absence would help, and who is needed.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use model::block::DeviceNumber;
use model::cause::Cause;
use model::effect::Edge;
use model::wait_kind::WaitKind;

use super::super::change::{Absence, domain};
use super::asked::Asked;
use crate::blame::{ClassTimes, Culprit, Explanation};
use crate::waits::{Path, Step, Waits};

/// Culprits whose absence is predicted.
const CULPRITS: usize = 2;
/// Begins the names of the recorder's processes.
const RECORDER: &str = "stallscope";

/// The operations whose waits are replayed ([`crate::blame::Accounting::all_waits`]): those of a recorded command that
/// stalled, else all. A neighbour's culprits and disks are not the command's.
pub(super) fn concerned<'a>(explanation: &'a Explanation, waits: &Waits) -> (&'a [Culprit], &'a [ClassTimes]) {
    if waits.are_short {
        return (&explanation.short_waits.culprits, &explanation.short_waits.calls);
    }
    match explanation.command.as_ref().filter(|part| part.operations > 0) {
        Some(part) => (&part.culprits, &part.classes),
        None => (&explanation.culprits, &explanation.classes),
    }
}

/// The worst culprits, with their shares; not those that cost themselves more than others, and not what the user wants
/// done: processes of the recorded command, and servers that the victims ask. Nobody can do without the kernel's
/// threads, which work for others, or without the recorder. A task that stopped or froze others uses nothing: what it
/// did is to be undone.
pub(super) fn absences(explanation: &Explanation, waits: &Waits, evictor: Option<Absence>) -> Vec<Absence> {
    let mut sums: Vec<Sum> = Vec::new();
    let asked = Asked::of(waits);
    let (culprits, _) = concerned(explanation, waits);
    let is_wanted = |culprit: &&Culprit| {
        let is_of_command = culprit.task.as_ref().is_some_and(|task| waits.command.contains(&task.tid));
        is_of_command || asked.is_needed(culprit) || is_to_be_undone(culprit) || is_indispensable(waits, culprit)
    };
    for culprit in culprits.iter().filter(|culprit| !is_wanted(culprit)) {
        let Some(name) = culprit.task.as_ref().and_then(|task| task.name.clone()) else { continue };
        let share = culprit.time_ns as f64 / sum(culprits, culprit).max(1) as f64;
        let share = (culprit.cause, domain(culprit.cause, culprit.device), share);
        let at = sums.iter().position(|sum| sum.is_of(culprit)).unwrap_or_else(|| {
            let pid = culprit.task.as_ref().map(|task| task.tid).filter(|_| culprit.tasks < 2);
            let (task, duty) = (Some(name), asked.duty(culprit));
            let absence = Absence { task, pid, duty, ..Absence::default() };
            sums.push(Sum { absence, ns: 0 });
            sums.len() - 1
        });
        sums[at].add(culprit, threads(waits, culprit), share);
    }
    sums.retain(|sum| sum.ns > own_ns(waits, &sum.absence));
    sums.sort_by_key(|sum| Reverse(sum.ns));
    let worst = sums.into_iter().map(|sum| sum.absence(waits)).take(CULPRITS).collect();
    with_evictor(worst, evictor)
}

/// What stopped or froze a task, or the server that it asks. Who uses the disk of a server's files can be absent.
fn is_to_be_undone(culprit: &Culprit) -> bool {
    match culprit.cause {
        cause if Edge::Server.changes(cause) => culprit.device.is_none(),
        cause => [Edge::Stopped, Edge::Frozen].iter().any(|edge| edge.changes(cause)),
    }
}

/// A part, 0 to 1, of what is lost to a cause on a disk.
type Share = (Cause, Option<DeviceNumber>, f64);

/// What a culprit costs others.
#[derive(Debug, Default)]
struct Sum {
    absence: Absence,
    ns: u64,
}

impl Sum {
    /// Whether it is that culprit's: with cgroups of version 1, a process is in another cgroup for each resource.
    fn is_of(&self, culprit: &Culprit) -> bool {
        let Some(task) = &culprit.task else { return false };
        let pid = Some(task.tid).filter(|_| culprit.tasks < 2);
        let absence = &self.absence;
        let is_same_process = pid.is_some() && pid == absence.pid;
        let is_other_process = !is_same_process && pid.is_some() && absence.pid.is_some();
        let is_known = |cgroup: Option<&str>| cgroup.is_some_and(|cgroup| cgroup != "/");
        let is_near = absence.cgroup == culprit.cgroup
            || !is_known(absence.cgroup.as_deref()) && !is_other_process
            || !is_known(culprit.cgroup.as_deref()) && !is_other_process;
        let is_of_name = absence.task == task.name && (absence.duty.is_none() || culprit.role == absence.duty);
        is_of_name && (is_same_process || is_near)
    }

    fn add(&mut self, culprit: &Culprit, threads: BTreeSet<u32>, share: Share) {
        let is_same = culprit.tasks < 2 && culprit.task.as_ref().map(|task| task.tid) == self.absence.pid;
        self.absence.pid = self.absence.pid.filter(|_| is_same);
        if self.absence.cgroup.as_ref().is_none_or(|cgroup| cgroup == "/") {
            (self.absence.cgroup, self.absence.container) = (culprit.cgroup.clone(), culprit.container.clone());
        }
        self.absence.threads.extend(threads);
        self.absence.shares.push(share);
        self.ns += culprit.time_ns;
    }

    fn absence(self, waits: &Waits) -> Absence {
        let absence = Absence { shares: of_other_waits(waits, &self.absence), ..self.absence };
        let costs_by_locks_or_work = costs_by_locks_or_work(waits, &absence);
        Absence { costs_by_locks_or_work, ..absence }
    }
}

/// Its shares of the waits that are not for its threads: those that are count in full, and are a part of what it is
/// blamed for.
fn of_other_waits(waits: &Waits, absence: &Absence) -> Vec<Share> {
    let mut shares: Vec<Share> = Vec::new();
    for &(cause, disk, share) in &absence.shares {
        match shares.iter_mut().find(|known| (known.0, known.1) == (cause, disk)) {
            Some(known) => known.2 += share,
            None => shares.push((cause, disk, share)),
        }
    }
    for (cause, disk, share) in &mut shares {
        let (mut all_ns, mut awaited_ns) = (0.0, 0.0);
        for (path, ns) in waits.operations.iter().flat_map(|operation| &operation.pieces) {
            let path = &waits.paths[*path as usize];
            if path[0].cause == *cause && domain(*cause, path[0].blamed) == *disk {
                all_ns += *ns as f64;
                awaited_ns += if absence.is_awaited(path) { *ns as f64 } else { 0.0 };
            }
        }
        if all_ns > awaited_ns {
            *share = ((*share * all_ns - awaited_ns) / (all_ns - awaited_ns)).max(0.0);
        }
    }
    shares
}

/// Whether most of what an absence saves is for locks that it holds for as long as it wants, or for work that it asked
/// for. A lock of the kernel is held for as long as the call takes. One of an unknown kind, which a program polls for,
/// is one of programs.
fn costs_by_locks_or_work(waits: &Waits, absence: &Absence) -> bool {
    let (mut all_ns, mut by_choice_ns) = (0.0, 0.0);
    for (path, ns) in waits.operations.iter().flat_map(|operation| &operation.pieces) {
        let path = &waits.paths[*path as usize];
        let saved_ns = absence.share(path) * *ns as f64;
        all_ns += saved_ns;
        by_choice_ns += if is_by_choice(path, absence) { saved_ns } else { 0.0 };
    }
    by_choice_ns > all_ns / 2.0
}

fn is_by_choice(path: &Path, absence: &Absence) -> bool {
    let is_of_program = |step: &Step| step.kind.is_none_or(WaitKind::is_programs_lock);
    // What a holder waits for may be the first thing that is known of it. Without a disk, it is a holder that is to
    // blame.
    let is_its = |holder: Option<&Step>| {
        path[0].blamed.is_none() || holder.is_none_or(|holder| absence.threads.contains(&holder.tid))
    };
    let mut steps = path.iter().enumerate();
    path[0].cause == Cause::Running
        || steps.any(|(at, step)| step.cause == Cause::Lock && is_of_program(step) && is_its(path.get(at + 1)))
}

/// Who fills a memory cgroup may use the disk, too.
fn with_evictor(mut absences: Vec<Absence>, evictor: Option<Absence>) -> Vec<Absence> {
    match evictor.map(|evictor| (absences.iter_mut().find(|known| known.task == evictor.task), evictor)) {
        Some((Some(known), evictor)) => known.evicts = evictor.evicts,
        Some((None, evictor)) => absences.push(evictor),
        None => {}
    }
    absences
}

/// The time of the operations of what is absent.
fn own_ns(waits: &Waits, absence: &Absence) -> u64 {
    let its = waits.operations.iter().filter(|operation| absence.has(waits, operation.tid));
    its.map(|operation| operation.duration_ns() * waits.stands_for).sum()
}

/// The threads of a culprit: of the process, or of all of its name where it stands for several.
fn threads(waits: &Waits, culprit: &Culprit) -> BTreeSet<u32> {
    let Some(task) = &culprit.task else { return BTreeSet::new() };
    let pid = Some(task.tid).filter(|_| culprit.tasks < 2 || task.name.is_none());
    let its = Absence { task: task.name.clone(), pid, ..Absence::default() };
    waits.tasks.keys().copied().filter(|tid| its.has(waits, *tid)).collect()
}

/// Time of all culprits with the same cause and disk.
fn sum(culprits: &[Culprit], of: &Culprit) -> u64 {
    let disk = |culprit: &Culprit| domain(culprit.cause, culprit.device);
    let same = |culprit: &&Culprit| culprit.cause == of.cause && disk(culprit) == disk(of);
    culprits.iter().filter(same).map(|culprit| culprit.time_ns).sum()
}

/// A thread of the kernel, or the recorder.
fn is_indispensable(waits: &Waits, culprit: &Culprit) -> bool {
    let Some(task) = &culprit.task else { return false };
    let name = task.name.as_deref();
    name.is_some_and(|name| name.starts_with(RECORDER))
        || waits.kernel_threads.has(task.tid, name, culprit.cgroup.as_deref())
}
