//! Requests that a server works on, as operations: each may consist of many waits.

use std::cell::Cell;
use std::collections::HashMap;

use model::stall::{Awaits, StallKind};

use crate::blame::facts::names::Name;
use crate::blame::facts::rows::joined::joined;
use crate::blame::facts::rows::{LONGEST_NS, Row};
use crate::blame::facts::run_index::RunIndex;
use crate::blame::operations::{Operation, of_rows};
use crate::thresholds::SMALL_PART;

/// The class of a request, from its receipt to the end of the last wait for it.
pub(crate) const CLIENT_REQUEST: &str = "client_request";

/// When a request was received, of a row in which its server waited for storage, for a lock or for another task.
pub(crate) fn received_ns(index: &RunIndex, row: &Row) -> Option<u64> {
    let is_for_client = matches!(index.awaits(row), None | Some(Awaits::ForClient | Awaits::Lock | Awaits::Thread));
    index.asked_ns(row).filter(|&asked_ns| row.kind == StallKind::OffCpu && is_for_client && asked_ns <= row.start_ns)
}

/// Slow requests, except those that are hardly more than one of the operations found, and those of a load's threads.
pub(crate) fn client_requests(
    index: &RunIndex,
    found: &[Operation],
    slower_than_ns: u64,
    class: Name,
) -> Vec<Operation> {
    let found = by_task(found);
    let request = |rows: &Vec<&Row>| {
        let end_ns = rows.iter().map(|row| row.end_ns).fold(0, u64::max);
        let start_ns = received_ns(index, rows[0])?;
        let parts = found.get(&rows[0].tid).map_or(&[][..], Vec::as_slice);
        // They do not overlap each other.
        let parts = &parts[parts.partition_point(|part| part.end_ns <= start_ns)..];
        let parts = parts.iter().take_while(|part| part.start_ns < end_ns);
        let longest = parts.clone().max_by_key(|part| part.ns());
        let all_ns = end_ns - start_ns;
        let is_whole = parts.clone().all(|part| start_ns <= part.start_ns && part.end_ns <= end_ns && !part.own)
            && longest.is_none_or(|longest| longest.ns() < all_ns - all_ns / SMALL_PART);
        (is_whole && (slower_than_ns..=LONGEST_NS).contains(&all_ns)).then(|| Operation {
            class,
            path: longest.and_then(|longest| longest.path),
            start_ns,
            end_ns,
            awaits: Some(Awaits::ForClient),
            ..of_rows(index, rows, class)
        })
    };
    worked_on(index).iter().filter_map(request).collect()
}

/// The rows of each request, up to the next wait for a message: a server that waits for what comes next works on
/// nothing, though it has not answered. What it received may have wanted no answer.
fn worked_on(index: &RunIndex) -> Vec<Vec<&Row>> {
    // The thread whose rows come, and when it last waited for a message.
    let idled = Cell::new((0, 0));
    let request = |row: &Row| {
        if row.kind == StallKind::OffCpu && index.awaits(row) == Some(Awaits::Message) {
            idled.set((row.tid, row.start_ns));
        }
        let (tid, idled_ns) = idled.get();
        received_ns(index, row).filter(|received_ns| tid != row.tid || idled_ns < *received_ns)
    };
    joined(&index.rows, request, |_| u64::MAX)
}

/// Drops the operations that are parts of a request in the list.
pub(crate) fn drop_parts(operations: &mut Vec<Operation>, class: Name) {
    let (requests, mut others): (Vec<Operation>, Vec<Operation>) =
        operations.drain(..).partition(|operation| operation.class == class);
    let by_task = by_task(&requests);
    others.retain(|part| {
        let requests = by_task.get(&part.tid).map_or(&[][..], Vec::as_slice);
        let before = requests[..requests.partition_point(|request| request.start_ns <= part.start_ns)].last();
        part.asynchronous.is_some() || before.is_none_or(|request| request.end_ns < part.end_ns)
    });
    others.extend(requests);
    *operations = others;
}

/// Those of each task by start, without the asynchronous ones.
fn by_task(operations: &[Operation]) -> HashMap<u32, Vec<&Operation>> {
    let mut by_task: HashMap<u32, Vec<&Operation>> = HashMap::new();
    for operation in operations.iter().filter(|operation| operation.asynchronous.is_none()) {
        by_task.entry(operation.tid).or_default().push(operation);
    }
    by_task.values_mut().for_each(|of| of.sort_by_key(|operation| (operation.start_ns, operation.end_ns)));
    by_task
}
