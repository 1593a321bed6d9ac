//! Whose requests a disk completed while a task waited for one.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use model::block::DeviceNumber;
use model::stall::RequestRecord;

use crate::blame::culprits::users::{Amounts, amounts};
use crate::blame::facts::run_index::RunIndex;
use crate::blame::operations::Operation;
use crate::blame::verdict::explanation::{RequestLife, Served, ServedTo};

/// Processes kept.
const KEPT: usize = 8;

/// Those completed during the operation, from the begin of its request on, or of the limit that held it.
pub(crate) fn served(index: &RunIndex, operation: &Operation, request: &RequestLife) -> Option<Served> {
    let began_ns = if request.throttled { operation.start_ns } else { request.began_ns };
    let (from_ns, to_ns) = (began_ns.max(operation.start_ns), request.completed_ns.min(operation.end_ns));
    let own = index.tasks.process_of(operation.tid, operation.end_ns);
    let of_all = amounts(index, request.device, from_ns, to_ns);
    let mut by: Vec<ServedTo> =
        of_all.iter().map(|(pid, amounts)| served_to(index, request.device, *pid, *amounts, own, to_ns)).collect();
    let sum = |amount: fn(&ServedTo) -> u64| by.iter().map(amount).fold(0, u64::saturating_add);
    let (requests, bytes) = (sum(|one| one.requests), sum(|one| one.bytes));
    by.sort_by_key(|one| Reverse((one.bytes, one.requests)));
    by.truncate(KEPT);
    (requests > 0).then_some(Served { requests, bytes, by })
}

/// Names those whose requests were in flight when a request came, and whose overtook it, as far as tasks waited for
/// them.
pub(crate) fn name_others(index: &RunIndex, operation: &Operation, request: RequestLife) -> RequestLife {
    let own = index.tasks.process_of(operation.tid, operation.end_ns);
    let (device, came_ns, done_ns) = (request.device, request.began_ns, request.completed_ns);
    let by = |numbers: Option<Vec<&RequestRecord>>| {
        numbers.map(|requests| submitters(index, own, &requests)).filter(|by| !by.is_empty())
    };
    let queues = index.queues();
    let known = |number: u32| index.requests.get(number);
    let in_flight = queues.in_flight(device, came_ns).map(|numbers| numbers.filter_map(known));
    let in_flight_of = by(in_flight.map(|requests| requests.filter(|one| one.completed_ns > came_ns).collect()));
    let later = queues.after(device, came_ns, done_ns).map(|numbers| numbers.filter_map(known));
    let overtakers = by(later.map(|requests| requests.filter(|one| one.completed_ns < done_ns).collect()));
    RequestLife { in_flight_of, overtakers, ..request }
}

/// By process: those with the most requests first.
fn submitters(index: &RunIndex, own: u32, requests: &[&RequestRecord]) -> Vec<ServedTo> {
    let mut by: BTreeMap<Option<u32>, (Amounts, u64, DeviceNumber)> = BTreeMap::new();
    for request in requests {
        let tid = request.submitter();
        let pid = tid.map(|tid| index.tasks.process_of(tid, request.completed_ns));
        let (amounts, ..) = by.entry(pid).or_insert((Amounts::default(), request.completed_ns, request.device));
        amounts.requests += 1;
        amounts.bytes += u64::from(request.bytes);
    }
    let one = |(pid, (amounts, at_ns, device))| served_to(index, device, pid, amounts, own, at_ns);
    let mut by: Vec<ServedTo> = by.into_iter().map(one).collect();
    by.sort_by_key(|one| Reverse((one.requests, one.bytes)));
    by.truncate(KEPT);
    by
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
