//! Requests to servers as operations of their clients, whichever thread of a client sent them, waited or received the
//! answer.

use std::collections::HashSet;

use model::stall::{Awaits, StallKind};

use crate::blame::facts::names::Name;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::operations::{BusyTimes, Operation, of_row};
use crate::hashing::FastMap;
use crate::thresholds::SMALL_PART;

/// The class of a request, from what its client sent to what it received.
pub(crate) const SERVER_REQUEST: &str = "server_request";

/// Slow requests.
pub(crate) fn server_requests(index: &RunIndex, slower_than_ns: u64, class: Name) -> Vec<Operation> {
    let rows = index.rows.iter().zip(0..).filter(|(row, _)| row.kind == StallKind::ServerRequest);
    let slow = rows.filter(|(row, _)| row.end_ns - row.start_ns >= slower_than_ns);
    let operation = |(row, at): (&Row, u32)| Operation {
        asynchronous: Some(at),
        awaits: index.awaits(row),
        has_gaps: true,
        ..of_row(row, class)
    };
    slow.map(operation).collect()
}

/// Leaves one of a request and the waits for its answer: the wait, if it is hardly shorter than the request and of the
/// thread that received the answer, else the request.
pub(crate) fn drop_repeated(index: &RunIndex, operations: &mut Vec<Operation>, class: Name) {
    let (requests, mut others): (Vec<Operation>, Vec<Operation>) =
        operations.drain(..).partition(|operation| operation.class == class && operation.asynchronous.is_some());
    let mut whole: HashSet<usize> = HashSet::new();
    let waits = waits(&others);
    let requests: Vec<Operation> = requests
        .into_iter()
        .filter(|request| {
            let found = waits.get(&request.tid).and_then(|waits| whole_wait(&others, waits, request));
            whole.extend(found);
            found.is_none()
        })
        .collect();
    let pid = |operation: &Operation| index.tasks.process_of(operation.tid, operation.end_ns);
    let times = BusyTimes::of(requests.iter().map(|request| (pid(request), request.start_ns, request.end_ns)));
    let mut at = 0..;
    others.retain(|other| {
        let middle_ns = other.start_ns + other.ns() / 2;
        let is_kept = at.next().is_some_and(|at| whole.contains(&at));
        is_kept || !is_wait(other) || !times.overlaps(pid(other), middle_ns, middle_ns + 1)
    });
    others.extend(requests);
    *operations = others;
}

/// Positions of the waits for answers of each thread, in order of time.
fn waits(operations: &[Operation]) -> FastMap<u32, Vec<usize>> {
    let mut waits: FastMap<u32, Vec<usize>> = FastMap::default();
    for (at, wait) in operations.iter().enumerate().filter(|(_, operation)| is_wait(operation)) {
        waits.entry(wait.tid).or_default().push(at);
    }
    waits.values_mut().for_each(|of| of.sort_by_key(|&at| operations[at].start_ns));
    waits
}

/// The wait that has most of a request. Those of one thread do not overlap.
fn whole_wait(operations: &[Operation], waits: &[usize], request: &Operation) -> Option<usize> {
    let first = waits.partition_point(|&at| operations[at].end_ns <= request.start_ns);
    let within = waits[first..].iter().take_while(|&&at| operations[at].start_ns < request.end_ns);
    let has_most = |wait: &Operation| {
        let both_ns = wait.end_ns.min(request.end_ns) - wait.start_ns.max(request.start_ns);
        both_ns >= request.ns() - request.ns() / SMALL_PART
    };
    within.copied().find(|&at| has_most(&operations[at]))
}

/// Whether an operation is a thread's own wait for an answer.
fn is_wait(operation: &Operation) -> bool {
    operation.asynchronous.is_none() && matches!(operation.awaits, Some(Awaits::Answer | Awaits::PartOfAnswer))
}
