//! Whose absence would help, and who is needed.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use model::block::DeviceNumber;
use model::cause::Cause;
use model::effect::Edge;

use super::super::change::Absence;
use crate::blame::{ClassTimes, Culprit, Explanation};
use crate::waits::Waits;

/// Culprits whose absence is predicted.
const CULPRITS: usize = 2;

/// The operations whose waits are replayed ([`crate::blame::Accounting::all_waits`]): those of a recorded command that stalled, else
/// all. A neighbour's culprits and disks are not the command's.
pub(super) fn concerned<'a>(explanation: &'a Explanation, waits: &Waits) -> (&'a [Culprit], &'a [ClassTimes]) {
    if waits.are_short {
        return (&explanation.short_waits.culprits, &explanation.short_waits.calls);
    }
    match explanation.command.as_ref().filter(|part| part.operations > 0) {
        Some(part) => (&part.culprits, &part.classes),
        None => (&explanation.culprits, &explanation.classes),
    }
}

/// The worst culprits, with their shares; not those that cost themselves more than others, and not what the user wants done:
/// processes of the recorded command, and servers that the victims ask. A task that stopped or froze others uses nothing: what it did is
/// to be undone.
pub(super) fn absences(explanation: &Explanation, waits: &Waits, evictor: Option<Absence>) -> Vec<Absence> {
    let mut sums: Vec<Sum> = Vec::new();
    let servers = servers(waits);
    let (culprits, _) = concerned(explanation, waits);
    let is_wanted = |culprit: &&Culprit| {
        let is_of_command = culprit.task.as_ref().is_some_and(|task| waits.command.contains(&task.tid));
        let is_server =
            culprit.task.as_ref().and_then(|task| task.name.as_deref()).is_some_and(|name| servers.contains(name));
        let undoes = [Edge::Server, Edge::Stopped, Edge::Frozen].iter().any(|edge| edge.changes(culprit.cause));
        is_of_command || is_server || undoes
    };
    for culprit in culprits.iter().filter(|culprit| !is_wanted(culprit)) {
        let Some(name) = culprit.task.as_ref().and_then(|task| task.name.clone()) else { continue };
        let share = (culprit.cause, culprit.device, culprit.time_ns as f64 / sum(culprits, culprit).max(1) as f64);
        let same = |Sum { absence, .. }: &Sum| absence.task.as_ref() == Some(&name) && absence.cgroup == culprit.cgroup;
        let at = sums.iter().position(same).unwrap_or_else(|| {
            let pid = culprit.task.as_ref().map(|task| task.tid).filter(|_| culprit.tasks < 2);
            let absence = Absence { task: Some(name), pid, cgroup: culprit.cgroup.clone(), ..Absence::default() };
            sums.push(Sum { absence, ..Sum::default() });
            sums.len() - 1
        });
        sums[at].add(culprit, threads(waits, culprit), share);
    }
    let costs_others = |sum: &Sum| {
        let name = sum.absence.task.as_deref().unwrap_or_default();
        !is_of_kernel(name) && sum.ns > own_ns(waits, &sum.absence)
    };
    sums.retain(costs_others);
    sums.sort_by_key(|sum| Reverse(sum.ns));
    with_evictor(sums.into_iter().map(Sum::absence).take(CULPRITS).collect(), evictor)
}

/// What a culprit costs others.
#[derive(Debug, Default)]
struct Sum {
    absence: Absence,
    ns: u64,
    by_locks_or_work_ns: u64,
}

impl Sum {
    fn add(&mut self, culprit: &Culprit, threads: BTreeSet<u32>, share: (Cause, Option<DeviceNumber>, f64)) {
        let is_same = culprit.tasks < 2 && culprit.task.as_ref().map(|task| task.tid) == self.absence.pid;
        self.absence.pid = self.absence.pid.filter(|_| is_same);
        self.absence.threads.extend(threads);
        self.absence.shares.push(share);
        self.ns += culprit.time_ns;
        if matches!(culprit.cause, Cause::Lock | Cause::Running) {
            self.by_locks_or_work_ns += culprit.time_ns;
        }
    }

    fn absence(self) -> Absence {
        let costs_by_locks_or_work = self.by_locks_or_work_ns > self.ns / 2;
        Absence { costs_by_locks_or_work, ..self.absence }
    }
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

/// Names of the processes whose work the operations need: those whose answers they await, servers of file systems too, and those that
/// these wait for in turn. Processes of the recorded command are wanted anyway: another one of the same program need not be.
fn servers(waits: &Waits) -> BTreeSet<&str> {
    let mut servers: BTreeSet<&str> = waits.servers.iter().map(String::as_str).collect();
    for operation in &waits.operations {
        for (path, _) in &operation.pieces {
            let path = &waits.paths[*path as usize];
            let process = |tid: u32| waits.tasks.get(&tid).map(String::as_str);
            let name = |tid: u32| {
                let (name, pid) = process(tid)?.rsplit_once('/')?;
                (!pid.parse().is_ok_and(|pid| waits.command.contains(&pid))).then_some(name)
            };
            let is_of_server = process(path[0].tid) != process(operation.tid);
            let asked = path.iter().position(|step| Edge::Server.changes(step.cause)).map(|at| at + 1);
            if let Some(from) = is_of_server.then_some(0).or(asked) {
                servers.extend(path[from..].iter().filter_map(|step| name(step.tid)));
            }
        }
    }
    servers
}

/// Time of all culprits with the same cause and disk.
fn sum(culprits: &[Culprit], of: &Culprit) -> u64 {
    let same = |culprit: &&Culprit| culprit.cause == of.cause && culprit.device == of.device;
    culprits.iter().filter(same).map(|culprit| culprit.time_ns).sum()
}

/// Threads of the kernel work for others: nobody can do without them. Nor could the recorder be left out.
fn is_of_kernel(name: &str) -> bool {
    ["stallscope", "kworker", "jbd2/", "xfsaild", "xfs-", "btrfs-", "kswapd", "ksoftirqd", "loop", "ext4lazyinit"]
        .iter()
        .any(|kernel| name.starts_with(kernel))
}
