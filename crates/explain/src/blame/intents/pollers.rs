//! Threads of a runtime that take up whatever comes next (Go, tokio): one of them waits for messages of all connections, the others sleep
//! until it wakes them. The one that received a request is not the one that answers it, so that its sleeps are of no request.

use std::collections::HashSet;

use model::stall::{Awaits, StallKind};
use model::system_call::traits;

use crate::blame::facts::names::Names;
use crate::blame::facts::rows::Row;
use crate::blame::facts::tasks::Tasks;

/// A thread that is said to work on one request, and waits during that for messages as well as for other threads of its process. A
/// process that waits for a lock (PostgreSQL) is woken by others.
pub(crate) fn forget_requests_of_pollers(rows: &mut [Row], names: &Names, tasks: &Tasks) {
    let is_in = |row: &Row, calls: u32| row.call.is_some_and(|call| names.traits(call).has(calls));
    let polls = rows.iter().filter(|row| sleeps_for_client(row) && is_in(row, traits::POLLS));
    let polling: HashSet<(u32, Option<u64>)> = polls.map(|row| (row.tid, row.asked_ns)).collect();
    if polling.is_empty() {
        return;
    }
    let pid = |tid: u32, row: &Row| tasks.pid(tid, row.runnable_ns);
    let is_by_thread = |row: &Row| {
        let waker = row.waker_tid.get().and_then(|waker| pid(waker, row));
        waker.is_some() && waker == pid(row.tid, row)
    };
    let by_threads =
        rows.iter().filter(|row| sleeps_for_client(row) && is_in(row, traits::WAITS_FOR_THREAD) && is_by_thread(row));
    let both: HashSet<_> = by_threads.map(|row| (row.tid, row.asked_ns)).filter(|key| polling.contains(key)).collect();
    for row in rows.iter_mut().filter(|row| sleeps_for_client(row) && both.contains(&(row.tid, row.asked_ns))) {
        (row.asked_ns, row.awaits) = (None, Some(Awaits::Message));
    }
}

fn sleeps_for_client(row: &Row) -> bool {
    let is_for_client =
        matches!(row.awaits, Some(Awaits::ForClient | Awaits::Lock | Awaits::Thread | Awaits::Interrupt));
    row.kind == StallKind::OffCpu && row.interruptible && row.asked_ns.is_some() && is_for_client
}
