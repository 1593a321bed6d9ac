//! Tasks that were stopped, and sent what another one slept for as soon as they went on.

use model::stall::{Awaits, StallKind};

use crate::blame::facts::intent::Intent;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::rule::{Example, Rule};
use crate::hashing::{FastMap, FastSet};
use crate::thresholds::passed_on_within_ns;

pub(crate) const RULE: Rule = Rule {
    id: "sender-was-stopped",
    concludes: "A sleep for a message was for the task that sent it, if that was stopped for most of the sleep and \
                sent it as soon as it went on.",
    from: "A signal, a debugger or the freezer of a cgroup stopped the waker's process for half of the sleep or more; \
           the wakeup follows the end of the stop at once.",
    because: "What it sends first it would have sent during the stop: an answer that was asked for before the \
              recording, or the next piece of what it produces.",
    unless: "A timer of the sender expired during the stop. Its process answers others, or reads requests of a file \
             system: a server idles while its client is stopped.",
    example: Example {
        timeline: "
            off 7 | ssssssssssss   | call=recvfrom state=1 awaits=message waker=9
            off 9 |ssssssssssss    | state=4 waker=5",
        causes: "stopped 11, unexplained 1",
        chain: "thread 7: stopped 11 < thread 9: stopped 11",
    },
};

pub(crate) fn find(index: &RunIndex) -> Vec<(u32, Intent)> {
    let stops = stops(index);
    if stops.is_empty() {
        return Vec::new();
    }
    let servers = servers(index);
    let may_want = |row: &&Row| {
        let is_message = row.kind == StallKind::OffCpu && index.awaits(row) == Some(Awaits::Message);
        is_message
            && !row.is_stopped()
            && index.stack(row.stack.get()).is_none_or(|stack| !stack.idle)
            && !servers.contains(&index.tasks.process_of(row.tid, row.end_ns))
    };
    let is_by_stopped = |row: &&Row| index.waker(row).is_some_and(|waker| was_stopped(index, &stops, row, waker));
    let found = index.rows.iter().filter(may_want).filter(is_by_stopped);
    found.map(|row| (row.at, Intent { what: Some(Awaits::Answer), ..*index.intent(row) })).collect()
}

/// Processes that have answered others.
fn servers(index: &RunIndex) -> FastSet<u32> {
    let answered = index.rows.iter().filter(|row| index.awaits(row) == Some(Awaits::Answer));
    answered.filter_map(|row| Some(index.tasks.process_of(index.waker(row)?, row.end_ns))).collect()
}

/// Ends and begins of the stops of each process.
fn stops(index: &RunIndex) -> FastMap<u32, Vec<(u64, u64)>> {
    let mut stops: FastMap<u32, Vec<(u64, u64)>> = FastMap::default();
    for row in index.rows.iter().filter(|row| row.kind == StallKind::OffCpu && row.is_stopped()) {
        let pid = index.tasks.process_of(row.tid, row.end_ns);
        stops.entry(pid).or_default().push((row.runnable_ns, row.start_ns));
    }
    stops.values_mut().for_each(|of| of.sort_unstable());
    stops
}

fn was_stopped(index: &RunIndex, stops: &FastMap<u32, Vec<(u64, u64)>>, row: &Row, waker: u32) -> bool {
    let pid = index.tasks.process_of(waker, row.runnable_ns);
    let (from_ns, to_ns) = (row.start_ns, row.runnable_ns);
    let Some(of) = stops.get(&pid) else { return false };
    let before = &of[..of.partition_point(|(end_ns, _)| *end_ns <= to_ns)];
    let is_at_once = |end_ns: u64| to_ns - end_ns <= passed_on_within_ns(to_ns - from_ns);
    before.last().is_some_and(|&(end_ns, start_ns)| {
        let both_ns = end_ns.saturating_sub(start_ns.max(from_ns));
        is_at_once(end_ns) && both_ns >= (to_ns - from_ns) / 2
    })
}
