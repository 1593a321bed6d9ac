//! Whose requests a disk completed while a task waited for one.

use std::cmp::Reverse;

use model::block::DeviceNumber;

use super::culprits::users::{Amounts, amounts};
use super::explanation::{RequestLife, Served, ServedTo};
use super::operations::Operation;
use super::run_index::RunIndex;

/// Processes kept.
const KEPT: usize = 8;

/// Those completed during the operation, from the begin of its request on, or of the limit that held it.
pub(super) fn served(index: &RunIndex, operation: &Operation, request: &RequestLife) -> Option<Served> {
    let began_ns = if request.throttled { operation.start_ns } else { request.began_ns };
    let (from_ns, to_ns) = (began_ns.max(operation.start_ns), request.completed_ns.min(operation.end_ns));
    let own = index.tasks.pid(operation.tid, operation.end_ns).unwrap_or(operation.tid);
    let of_all = amounts(index, request.device, from_ns, to_ns);
    let mut by: Vec<ServedTo> =
        of_all.iter().map(|(pid, amounts)| served_to(index, request.device, *pid, *amounts, own, to_ns)).collect();
    let sum = |amount: fn(&ServedTo) -> u64| by.iter().map(amount).fold(0, u64::saturating_add);
    let (requests, bytes) = (sum(|one| one.requests), sum(|one| one.bytes));
    by.sort_by_key(|one| Reverse((one.bytes, one.requests)));
    by.truncate(KEPT);
    (requests > 0).then_some(Served { requests, bytes, by })
}

fn served_to(
    index: &RunIndex,
    device: DeviceNumber,
    pid: Option<u32>,
    Amounts { requests, bytes }: Amounts,
    own: u32,
    at_ns: u64,
) -> ServedTo {
    let cgroup = pid.and_then(|pid| index.usage.cgroup_on(device, pid, at_ns).or(index.tasks.cgroup(pid, at_ns)));
    ServedTo {
        task: pid.map(|pid| index.tasks.process(pid, at_ns, &index.names)),
        cgroup: cgroup.map(|cgroup| index.names.get(cgroup).to_owned()),
        is_own: pid == Some(own),
        requests,
        bytes,
    }
}
