//! Applies a scope to a run's operations.

use std::collections::HashMap;

use model::block::DeviceNumber;

use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::scope::{Scope, any, holds, is_comm};
use crate::blame::facts::storage::disks::Disks;
use crate::blame::facts::task_id::TaskId;
use crate::blame::graph::operation_chain;
use crate::blame::operations::Operation;
use crate::blame::timeline::timelines::TaskTimelines;
use crate::blame::verdict::explanation::Scoped;
use crate::blame::verdict::rests_on::Rules;

/// Names listed of each kind where nothing is in scope: those with the most time.
const LISTED: usize = 8;

impl Scope {
    /// Whether a thread is in scope of which only this is known.
    pub(crate) fn has_named<'a>(&self, task: &TaskId, cgroups: impl Iterator<Item = &'a str> + Clone) -> bool {
        any(&self.pids, |&pid| pid == task.tid)
            && any(&self.comms, |pattern| task.name.as_deref().is_some_and(|name| is_comm(pattern, name)))
            && any(&self.cgroups, |pattern| cgroups.clone().any(|cgroup| holds(pattern, cgroup)))
    }

    /// Whether a file is in scope.
    pub(crate) fn has_path(&self, path: Option<&str>) -> bool {
        any(&self.paths, |pattern| path.is_some_and(|path| holds(pattern, path)))
    }

    /// Whether a task is in scope at a moment.
    pub(crate) fn has_task(&self, index: &RunIndex, tid: u32, at_ns: u64) -> bool {
        let (tasks, names) = (&index.tasks, &index.names);
        let pid = tasks.process_of(tid, at_ns);
        let is_named = |pattern: &String| {
            let of = |tid: u32| tasks.name(tid, at_ns).is_some_and(|name| is_comm(pattern, names.get(name)));
            of(tid) || of(pid)
        };
        let is_below = |pattern: &String| {
            let is_wanted = |cgroup| holds(pattern, names.get(cgroup));
            tasks.cgroups(tid, at_ns).any(is_wanted) || index.usage.is_in(pid, is_wanted)
        };
        any(&self.pids, |&wanted| wanted == tid || wanted == pid)
            && any(&self.comms, is_named)
            && any(&self.cgroups, is_below)
    }

    /// Tasks that are named are asked about: by their number always, by name or cgroup in a run without a command.
    pub(crate) fn find_subjects(&self, index: &mut RunIndex) {
        let has_group = !self.comms.is_empty() || !self.cgroups.is_empty();
        let by_group = has_group && !index.has_command;
        if self.pids.is_empty() && !by_group {
            return;
        }
        let lasts = index.tasks_rows().map(|(rows, _)| &rows[rows.len() - 1]);
        let named = lasts.filter(|last| self.has_task(index, last.tid, last.end_ns)).map(|last| last.tid);
        let named: Vec<u32> = named.collect();
        index.subjects.extend(named);
    }

    /// Drops the operations that are not in scope.
    pub(crate) fn apply(
        self,
        index: &RunIndex,
        disks: &Disks,
        timelines: &mut TaskTimelines<'_>,
        operations: &mut Vec<Operation>,
    ) -> Scoped {
        let wanted: Vec<DeviceNumber> = self.devices.iter().filter_map(|name| disks.number(name)).collect();
        let is_in_scope = |operation: &Operation| {
            self.has_task(index, operation.tid, operation.end_ns)
                && self.has_path(operation.path.map(|path| index.names.get(path)))
        };
        let mut outside: Vec<Operation> = Vec::new();
        let mut inside: Vec<Operation> = Vec::new();
        for operation in operations.drain(..) {
            let is_inside = is_in_scope(&operation)
                && (self.devices.is_empty()
                    || devices(index, disks, timelines, &operation).iter().any(|disk| wanted.contains(disk)));
            if is_inside { inside.push(operation) } else { outside.push(operation) }
        }
        *operations = inside;
        let present = if operations.is_empty() { self.present(index, disks, timelines, &outside) } else { Vec::new() };
        let outside_ns = outside.iter().fold(0, |sum: u64, operation| sum.saturating_add(operation.ns()));
        Scoped { outside: outside.len() as u64, outside_ns, present, scope: self }
    }

    /// What the slow operations have of the kinds that were asked for.
    fn present(
        &self,
        index: &RunIndex,
        disks: &Disks,
        timelines: &mut TaskTimelines<'_>,
        operations: &[Operation],
    ) -> Vec<(&'static str, Vec<String>)> {
        let pids: Vec<String> = self.pids.iter().map(u32::to_string).collect();
        let asked = self.kinds(&pids).into_iter().filter(|(_, values)| !values.is_empty());
        let mut present = Vec::new();
        for (kind, _) in asked {
            let mut times: HashMap<String, u64> = HashMap::new();
            for operation in operations {
                for name in names_of(kind, index, disks, timelines, operation) {
                    let time_ns = times.entry(name).or_default();
                    *time_ns = time_ns.saturating_add(operation.ns());
                }
            }
            let mut times: Vec<(String, u64)> = times.into_iter().collect();
            times.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            present.push((kind, times.into_iter().take(LISTED).map(|(name, _)| name).collect()));
        }
        present
    }
}

/// Values of one kind for an operation.
fn names_of(
    kind: &str,
    index: &RunIndex,
    disks: &Disks,
    timelines: &mut TaskTimelines<'_>,
    operation: &Operation,
) -> Vec<String> {
    let (tasks, names) = (&index.tasks, &index.names);
    let name = |name| names.get(name).to_owned();
    match kind {
        "comm" => tasks.name(operation.tid, operation.end_ns).map(name).into_iter().collect(),
        "pid" => vec![tasks.process(operation.tid, operation.end_ns, names).to_string()],
        "cgroup" => tasks.cgroups(operation.tid, operation.end_ns).map(name).collect(),
        "path" => operation.path.map(name).into_iter().collect(),
        _ => devices(index, disks, timelines, operation).into_iter().map(|disk| disks.name(disk)).collect(),
    }
}

/// The disks of an operation's file, of the requests that it waited for, and of what its chain ends at.
fn devices(
    index: &RunIndex,
    disks: &Disks,
    timelines: &mut TaskTimelines<'_>,
    operation: &Operation,
) -> Vec<DeviceNumber> {
    let mut found: Vec<DeviceNumber> = Vec::new();
    found.extend(operation.path.and_then(|path| disks.of_path(index.names.get(path))));
    let asynchronous = operation.asynchronous.map(|row| index.row(row));
    let rows = index.rows_between(operation.tid, operation.start_ns, operation.end_ns).map(|(_, row)| row);
    for row in rows.filter(|_| asynchronous.is_none()).chain(asynchronous) {
        let mut request = index.request(row);
        while let Some(of_disk) = request {
            found.push(of_disk.device);
            request = index.lower(of_disk);
        }
        found.extend(index.detail(row).and_then(|detail| disks.of_detail(detail)));
    }
    let (_, end) = operation_chain::of_operation(index, operation, &timelines.of(operation), &mut Rules::default());
    found.extend(end.map(|request| request.device));
    found.sort_unstable();
    found.dedup();
    found
}
