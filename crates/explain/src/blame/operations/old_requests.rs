//! Requests of which the server's side does not show that they are worked on, of servers with a thread for each client. Of those that were
//! sent before the recording only the answer shows that there was one: until then a thread that waits for another one of its process seems to
//! wait for work. After a part of an answer (MariaDB reports its progress) a thread seems to owe its client nothing.

use model::stall::{Awaits, StallKind};
use model::system_call::traits;

use crate::blame::facts::names::Names;
use crate::blame::facts::rows::Row;
use crate::blame::facts::stacks::Stacks;
use crate::hashing::FastMap;

/// Times in which each thread worked for a client, from the receipt of a request on.
type Work = FastMap<u32, Vec<(u64, u64)>>;

/// Waits for a thread while another client's thread had what both need are for a lock, as those of requests that were seen to come.
pub(crate) fn find_old_requests(rows: &mut [Row], names: &Names, stacks: &Stacks) {
    let old = times(rows, |row| row.cut && row.awaits == Some(Awaits::ForClient) && is_moment(row));
    let waited_for = waited_for(rows);
    if old.is_empty() && waited_for.is_empty() {
        return;
    }
    let seen = times(rows, |row| row.awaits == Some(Awaits::Interrupt) && is_moment(row));
    let is_for_thread = |row: &Row| row.call.is_some_and(|call| names.traits(call).has(traits::WAITS_FOR_THREAD));
    let by_signal =
        |row: &Row| row.waker_stack.get().and_then(|stack| stacks.get(&stack)).is_some_and(|waker| waker.signals);
    for row in rows.iter_mut().filter(|row| row.kind == StallKind::OffCpu && row.interruptible) {
        let by_other_process = row.awaits == Some(Awaits::Message) && by_signal(row);
        if !by_other_process && !is_for_thread(row) {
            wait_for_answer(row, &old);
            continue;
        }
        let asked_ns = receipt(&old, row.tid, row.runnable_ns).filter(|_| row.asked_ns.is_none());
        if asked_ns.is_some() && matches!(row.awaits, Some(Awaits::Work | Awaits::Interrupt | Awaits::Message)) {
            (row.asked_ns, row.awaits) = (asked_ns, Some(Awaits::ForClient));
        }
        let works =
            |tid: u32| [&old, &seen, &waited_for].into_iter().any(|work| receipt(work, tid, row.runnable_ns).is_some());
        if row.awaits == Some(Awaits::ForClient) && row.waker_tid.get().is_some_and(works) {
            row.awaits = Some(Awaits::Lock);
        }
    }
}

/// Who has waited since before the recording for what its server's thread sent as an answer is a client.
fn wait_for_answer(row: &mut Row, old: &Work) {
    let is_meant = row.cut && row.awaits == Some(Awaits::Message) && !is_moment(row);
    let asked_ns = row.waker_tid.get().filter(|_| is_meant).and_then(|server| receipt(old, server, row.runnable_ns));
    if asked_ns.is_some() {
        (row.asked_ns, row.awaits) = (asked_ns, Some(Awaits::Answer));
    }
}

/// Whether it is no wait, but a moment at which its thread worked for a client.
fn is_moment(row: &Row) -> bool {
    row.accounted.while_running && row.asked_ns.is_some()
}

fn times(rows: &[Row], is_one: impl Fn(&Row) -> bool) -> Work {
    let mut times = Work::default();
    for row in rows.iter().filter(|row| is_one(row)) {
        let Some(asked_ns) = row.asked_ns else { continue };
        times.entry(row.tid).or_default().push((asked_ns, row.end_ns));
    }
    times
}

/// Times in which clients waited for the rest of an answer, by the thread that sent it.
fn waited_for(rows: &[Row]) -> Work {
    let mut times = Work::default();
    let is_rest = |row: &&Row| row.kind == StallKind::ServerRequest && row.awaits == Some(Awaits::PartOfAnswer);
    for row in rows.iter().filter(is_rest) {
        let server = row.waker_tid.get().filter(|&server| server != 0);
        server.into_iter().for_each(|server| times.entry(server).or_default().push((row.start_ns, row.runnable_ns)));
    }
    times.values_mut().for_each(|times| times.sort_unstable());
    times
}

/// When the request came that a thread worked on at a moment. Its times are in order, as its rows are.
fn receipt(work: &Work, tid: u32, at_ns: u64) -> Option<u64> {
    let times = work.get(&tid)?;
    let &(from_ns, _) = times.get(times.partition_point(|&(_, to_ns)| to_ns < at_ns))?;
    (from_ns <= at_ns).then_some(from_ns)
}
