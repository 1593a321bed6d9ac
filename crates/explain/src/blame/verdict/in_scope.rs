//! Applies a scope to a run's operations.

use std::collections::HashMap;

use model::block::DeviceNumber;

use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::scope::Scope;
use crate::blame::facts::storage::disks::Disks;
use crate::blame::operations::Operation;
use crate::blame::timeline::timelines::TaskTimelines;
use crate::blame::verdict::explanation::Scoped;
use crate::blame::verdict::operation_chain;
use crate::blame::verdict::rests_on::Rules;

/// Names listed of each kind where nothing is in scope: those with the most time.
const LISTED: usize = 8;

/// Drops the operations that are not in scope.
pub(crate) fn apply(
    scope: Scope,
    index: &RunIndex,
    disks: &Disks,
    timelines: &mut TaskTimelines<'_>,
    operations: &mut Vec<Operation>,
) -> Scoped {
    let wanted: Vec<DeviceNumber> = scope.devices.iter().filter_map(|name| disks.number(name)).collect();
    let is_in_scope = |operation: &Operation| {
        scope.has_task(index, operation.tid, operation.end_ns)
            && scope.has_path(operation.path.map(|path| index.names.get(path)))
    };
    let mut outside: Vec<Operation> = Vec::new();
    let mut inside: Vec<Operation> = Vec::new();
    for operation in operations.drain(..) {
        let is_inside = is_in_scope(&operation)
            && (scope.devices.is_empty()
                || devices(index, disks, timelines, &operation).iter().any(|disk| wanted.contains(disk)));
        if is_inside { inside.push(operation) } else { outside.push(operation) }
    }
    *operations = inside;
    let present = if operations.is_empty() { present(&scope, index, disks, timelines, &outside) } else { Vec::new() };
    let outside_ns = outside.iter().fold(0, |sum: u64, operation| sum.saturating_add(operation.ns()));
    Scoped { outside: outside.len() as u64, outside_ns, present, scope }
}

/// What the slow operations have of the kinds that were asked for.
fn present(
    scope: &Scope,
    index: &RunIndex,
    disks: &Disks,
    timelines: &mut TaskTimelines<'_>,
    operations: &[Operation],
) -> Vec<(&'static str, Vec<String>)> {
    let pids: Vec<String> = scope.pids.iter().map(u32::to_string).collect();
    let asked = scope.kinds(&pids).into_iter().filter(|(_, values)| !values.is_empty());
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
