//! Threads that a limit on a disk delays again and again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use model::block::{DeviceNumber, Operation as BlockOperation};
use model::cause::Cause;
use model::stall::{RequestRecord, StallKind};
use model::usage::Resource;

use crate::blame::facts::names::Name;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::disks::Disks;
use crate::blame::facts::storage::request;
use crate::blame::facts::storage::usage::{Target, Used};
use crate::blame::operations::Operation;
use crate::thresholds::{HOLDS_LOCK_PART, IN_FLIGHT_TURNS, USUAL_TURNS_PART};
use crate::waits::{IoLimit, Loop, Moved, Path, Turn, Waiting};

/// Operations in flight at most, of a thread that is simulated.
const MOST_IN_FLIGHT: usize = 256;

/// A wait of a thread for a request that a limit delayed.
#[derive(Debug, Clone, Copy)]
struct Throttled {
    request: u32,
    turn: Turn,
}

/// A disk, whether its reads are limited, and the cgroup with the limit.
type Place = (DeviceNumber, bool, Name);

/// The limits that delayed these operations, or those that hold locks which they wait for, with their loops, and those
/// of threads of which none is one of `behind`: what a thread does for operations depends on these.
pub(crate) fn limited(
    (index, disks): (&RunIndex, &Disks),
    operations: &[Operation],
    behind: &BTreeSet<u32>,
    holders: &BTreeSet<u32>,
) -> Vec<IoLimit> {
    let mut by_thread: HashMap<u32, Vec<&Operation>> = HashMap::new();
    operations.iter().for_each(|operation| by_thread.entry(operation.tid).or_default().push(operation));
    let mut loops: BTreeMap<Place, Vec<Loop>> = BTreeMap::new();
    for ((tid, place), waits) in throttled(index) {
        let of_operations = by_thread.get(&tid);
        let turns = match of_operations {
            Some(operations) if operations.iter().any(|operation| operation.asynchronous.is_some()) => {
                asynchronous_turns(index, operations, place)
            }
            Some(operations) => turns(index, operations, &waits),
            None if behind.contains(&tid) => continue,
            None => turns_by_call(index, tid, &waits),
        };
        // A thread may have waited for the limit outside of its operations only.
        let is_of_operations = of_operations.is_some();
        let lanes = in_flight(turns).into_iter().map(|turns| Loop { tid, is_of_operations, turns, moved: Vec::new() });
        loops.entry(place).or_default().extend(lanes);
    }
    let is_awaited = |each: &Loop| each.is_of_operations || holders.contains(&each.tid);
    loops.retain(|_, loops| loops.iter().any(is_awaited));
    loops.into_iter().map(|(place, loops)| limit(index, disks, place, loops)).collect()
}

/// The threads that are behind the operations as those that hold a lock, but for [`HOLDS_LOCK_PART`] of that time.
pub(crate) fn holders(paths: &[Path], waiting: &[Waiting]) -> BTreeSet<u32> {
    let mut held: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for (path, ns) in waiting.iter().flat_map(|operation| &operation.pieces) {
        let path = &paths[*path as usize];
        let others = path.iter().enumerate().skip(1).filter(|(_, step)| step.tid != path[0].tid);
        let mut of_path: BTreeMap<u32, bool> = BTreeMap::new();
        others
            .for_each(|(at, step)| *of_path.entry(step.tid).or_insert(true) &= path[0].cause == Cause::Lock && at == 1);
        for (tid, holds) in of_path {
            let (holding_ns, otherwise_ns) = held.entry(tid).or_default();
            *(if holds { holding_ns } else { otherwise_ns }) += ns;
        }
    }
    let is_holder = |(holding_ns, otherwise_ns): (u64, u64)| otherwise_ns as f64 <= HOLDS_LOCK_PART * holding_ns as f64;
    held.into_iter().filter(|(_, times)| is_holder(*times)).map(|(tid, _)| tid).collect()
}

/// The waits for throttled requests, by thread and limit; each by start.
fn throttled(index: &RunIndex) -> BTreeMap<(u32, Place), Vec<Throttled>> {
    let mut waits: BTreeMap<(u32, Place), Vec<Throttled>> = BTreeMap::new();
    for row in index.rows.iter().filter(|row| matches!(row.kind, StallKind::OffCpu | StallKind::Blocked)) {
        let Some(request) = index.request(row).filter(|request| request.throttled) else { continue };
        let pid = index.tasks.process_of(row.tid, row.end_ns);
        let used = index.usage.latest(Target::Device(request.device), pid, row.start_ns);
        let Some(limit) = used.and_then(|used| used.limit) else { continue };
        let place = (request.device, request.kind.operation() == BlockOperation::Read, limit);
        waits.entry((row.tid, place)).or_default().push(wait(row, request));
    }
    waits
}

fn wait(row: &Row, request: &RequestRecord) -> Throttled {
    let released_ns = request::released_ns(request).clamp(row.start_ns, row.end_ns);
    let (throttled_ns, rest_ns) = (released_ns - row.start_ns, row.end_ns - released_ns);
    let bytes = u64::from(request.bytes);
    Throttled { request: request.request, turn: Turn { start_ns: row.start_ns, throttled_ns, rest_ns, bytes } }
}

fn is_whole(operation: &Operation) -> bool {
    operation.finished && !operation.cut
}

/// A thread's operations as turns: those of the classes that the limit delays. What the recording cuts is none: how
/// long its request was delayed, and what followed, is unknown.
fn turns(index: &RunIndex, operations: &[&Operation], waits: &[Throttled]) -> Vec<Turn> {
    let within = |operation: &Operation| {
        let from = waits.partition_point(|wait| wait.turn.start_ns < operation.start_ns);
        let to = waits.partition_point(|wait| wait.turn.start_ns < operation.end_ns);
        &waits[from..to]
    };
    let classes: BTreeSet<Name> =
        operations.iter().filter(|operation| !within(operation).is_empty()).map(|operation| operation.class).collect();
    let of_class = operations.iter().filter(|operation| is_whole(operation) && classes.contains(&operation.class));
    let mut turns: Vec<Turn> = of_class.map(|operation| turn(index, operation, within(operation))).collect();
    let mut sizes: Vec<u64> = turns.iter().map(|turn| turn.bytes).filter(|bytes| *bytes > 0).collect();
    sizes.sort_unstable();
    let usual = sizes.get(sizes.len() / 2).copied().unwrap_or(0);
    turns.iter_mut().filter(|turn| turn.bytes == 0).for_each(|turn| turn.bytes = usual);
    turns
}

/// Asynchronous operations as turns: each has its own request.
fn asynchronous_turns(index: &RunIndex, operations: &[&Operation], (device, reads, _): Place) -> Vec<Turn> {
    let turn = |operation: &&Operation| {
        let request = index.request(index.row(operation.asynchronous?))?;
        let is_there = request.device == device && (request.kind.operation() == BlockOperation::Read) == reads;
        let released_ns = request::released_ns(request).clamp(operation.start_ns, operation.end_ns);
        let throttled_ns = if request.throttled { released_ns - operation.start_ns } else { 0 };
        let rest_ns = operation.ns() - throttled_ns;
        let bytes = u64::from(request.bytes);
        (is_there && is_whole(operation)).then_some(Turn { start_ns: operation.start_ns, throttled_ns, rest_ns, bytes })
    };
    operations.iter().filter_map(turn).collect()
}

/// Turns of a thread, which overlap where it has several operations in flight, as loops whose turns do not: as many as
/// are in flight. None where they do not say how many that are.
fn in_flight(turns: Vec<Turn>) -> Vec<Vec<Turn>> {
    let all = turns.len();
    let mut lanes: Vec<Vec<Turn>> = Vec::new();
    for turn in turns {
        let is_free = |lane: &&mut Vec<Turn>| lane.last().is_none_or(|last| last.end_ns() <= turn.start_ns);
        match lanes.iter_mut().find(is_free) {
            Some(lane) => lane.push(turn),
            None => lanes.push(vec![turn]),
        }
    }
    if lanes.len() > 1 {
        // For moments there may be more.
        lanes.retain(|lane| lane.len() >= IN_FLIGHT_TURNS);
    }
    let kept: usize = lanes.iter().map(Vec::len).sum();
    if kept as f64 >= USUAL_TURNS_PART * all as f64 && lanes.len() <= MOST_IN_FLIGHT { lanes } else { Vec::new() }
}

fn turn(index: &RunIndex, operation: &Operation, waits: &[Throttled]) -> Turn {
    let calls = index.rows_between(operation.tid, operation.start_ns, operation.end_ns).map(|(_, row)| row);
    let of_call = calls.filter(|row| row.kind == StallKind::SystemCall && row.start_ns == operation.start_ns);
    turn_of(operation.start_ns..operation.end_ns, of_call.map(|row| row.bytes).max().unwrap_or(0), waits)
}

/// A call that moved so many bytes, as far as that is known: a wait is for the last of its requests.
fn turn_of(call: Range<u64>, moved: u64, waits: &[Throttled]) -> Turn {
    let end_ns = |wait: &Throttled| (wait.turn.start_ns + wait.turn.throttled_ns).min(call.end);
    let throttled_ns: u64 = waits.iter().map(|wait| end_ns(wait) - wait.turn.start_ns).sum();
    let requests: BTreeMap<u32, u64> = waits.iter().map(|wait| (wait.request, wait.turn.bytes)).collect();
    let ns = call.end - call.start;
    Turn {
        start_ns: call.start,
        throttled_ns: throttled_ns.min(ns),
        rest_ns: ns.saturating_sub(throttled_ns),
        bytes: requests.values().sum::<u64>().max(moved),
    }
}

/// The turns of a thread whose operations are not explained: its recorded calls, or else its waits.
fn turns_by_call(index: &RunIndex, tid: u32, waits: &[Throttled]) -> Vec<Turn> {
    let call = |wait: &Throttled| {
        let Turn { start_ns, .. } = wait.turn;
        let rows = index.rows_between(tid, start_ns, wait.turn.end_ns()).map(|(_, row)| row);
        let mut calls = rows.filter(|row| row.kind == StallKind::SystemCall && row.start_ns <= start_ns);
        calls.find(|row| row.end_ns >= wait.turn.end_ns())
    };
    let calls: Vec<Option<&Row>> = waits.iter().map(call).collect();
    let mut turns = Vec::new();
    let mut at = 0;
    while at < waits.len() {
        let Some(call) = calls[at] else {
            turns.push(waits[at].turn);
            at += 1;
            continue;
        };
        let is_of_call = |other: &&Option<&Row>| other.is_some_and(|row| row.start_ns == call.start_ns);
        let count = calls[at..].iter().take_while(is_of_call).count();
        turns.push(turn_of(call.start_ns..call.end_ns, call.bytes, &waits[at..at + count]));
        at += count;
    }
    turns
}

/// A limit, with its rate, and what its loops moved.
fn limit(index: &RunIndex, disks: &Disks, place: Place, loops: Vec<Loop>) -> IoLimit {
    let (device, reads, _) = place;
    let rate = |kind: &str| {
        let of_disk =
            |((disk, of), _): &(&(String, &str), &Option<u64>)| *of == kind && disks.number(disk) == Some(device);
        index.io_limits.iter().find(of_disk).and_then(|(_, rate)| *rate)
    };
    let [bytes, count] = if reads { ["read_bps", "read_iops"] } else { ["write_bps", "write_iops"] };
    let (mut bytes_per_s, per_s) = (rate(bytes), rate(count));
    let is_estimated = bytes_per_s.is_none() && per_s.is_none();
    if is_estimated {
        bytes_per_s = served(index, place, &loops);
    }
    let pid = |each: &Loop| index.tasks.process_of(each.tid, each.turns[0].end_ns());
    let mut threads: HashMap<u32, u64> = HashMap::new();
    loops.iter().for_each(|each| *threads.entry(pid(each)).or_default() += 1);
    let mut by_process: HashMap<u32, Vec<Moved>> = HashMap::new();
    for row in used(index, place) {
        let Some((pid, threads)) = row.pid.and_then(|pid| Some((pid, threads.get(&pid)?))) else { continue };
        let moved = Moved { start_ns: row.start_ns, end_ns: row.end_ns, bytes: row.bytes / threads };
        by_process.entry(pid).or_default().push(moved);
    }
    let moved = |each: Loop| Loop { moved: by_process.get(&pid(&each)).cloned().unwrap_or_default(), ..each };
    let mut loops: Vec<Loop> = loops.into_iter().map(moved).collect();
    add_metadata(index, place, &mut loops);
    IoLimit { device, reads, bytes_per_s, per_s, is_estimated, loops }
}

/// The file system's metadata, such as its journal, uses the limit for all who write, in proportion to what they write.
fn add_metadata(index: &RunIndex, place: Place, loops: &mut [Loop]) {
    let sum = |is_metadata: bool| -> u128 {
        let rows = used(index, place).filter(|row| (row.resource == Resource::DeviceMetadata) == is_metadata);
        rows.map(|row| u128::from(row.bytes)).sum()
    };
    let (metadata, others) = (sum(true), sum(false));
    if metadata == 0 || others == 0 {
        return;
    }
    let with = |bytes: &mut u64| {
        let part = u128::from(*bytes) * metadata / others;
        *bytes = bytes.saturating_add(u64::try_from(part).unwrap_or(u64::MAX));
    };
    for each in loops {
        each.turns.iter_mut().for_each(|turn| with(&mut turn.bytes));
        each.moved.iter_mut().for_each(|moved| with(&mut moved.bytes));
    }
}

/// Bytes per second that a limit let pass from the first wait for it to the last: it was used up.
fn served(index: &RunIndex, place: Place, loops: &[Loop]) -> Option<u64> {
    let turns = || loops.iter().flat_map(|each| &each.turns);
    let (from_ns, to_ns) = (turns().map(|turn| turn.start_ns).min()?, turns().map(Turn::end_ns).max()?);
    let within = used(index, place).filter(|row| row.start_ns >= from_ns && row.end_ns <= to_ns);
    let mut spans: BTreeMap<u64, u64> = BTreeMap::new();
    let mut bytes = 0;
    for row in within {
        spans.insert(row.start_ns, row.end_ns);
        bytes += row.bytes;
    }
    let ns: u64 = spans.iter().map(|(start_ns, end_ns)| end_ns - start_ns).sum();
    (ns > 0).then(|| (bytes as f64 / (ns as f64 / 1e9)) as u64).filter(|per_s| *per_s > 0)
}

/// Who used a limit.
fn used(index: &RunIndex, (device, reads, limit): Place) -> impl Iterator<Item = &Used> {
    let of_disk = index.usage.between(Target::Device(device), 0, u64::MAX).map(|(row, _)| row);
    of_disk.filter(move |row| row.limit == Some(limit) && (row.resource == Resource::DeviceRead) == reads)
}

#[cfg(test)]
mod tests {
    use model::cause::Cause;

    use super::{holders, in_flight};
    use crate::waits::{Path, Step, Turn, Waiting};

    fn step(cause: Cause, tid: u32) -> Step {
        Step { cause, kind: None, device: None, blamed: None, tid, syncs: false, occasion: None }
    }

    /// Thread 9 holds the lock that 7 waits for; sometimes it also has the CPU that 7 needs, or writes for it.
    #[test]
    fn a_holder_may_be_behind_an_operation_otherwise_for_a_moment() {
        let paths: Vec<Path> =
            [Cause::Lock, Cause::CpuWait].map(|of| vec![step(of, 7), step(Cause::IoThrottle, 9)]).into();
        let of = |held, otherwise| {
            let pieces = vec![(0, held), (1, otherwise)];
            holders(&paths, &[Waiting { tid: 7, pieces, ..Waiting::default() }])
        };
        assert_eq!(of(1000, 10).into_iter().collect::<Vec<_>>(), [9]);
        assert!(of(1000, 100).is_empty());
    }

    /// Turns of 10 ms, each begun so many ms after the one before.
    fn turns(begun_after: impl Iterator<Item = u64>) -> Vec<Turn> {
        let start = |now: &mut u64, after| {
            *now += after;
            Some(*now)
        };
        begun_after.scan(0, start).map(|start_ns| Turn { start_ns, throttled_ns: 9, rest_ns: 1, bytes: 4096 }).collect()
    }

    #[test]
    fn several_operations_in_flight_are_as_many_loops() {
        let lengths = |begun_after: Vec<u64>| {
            let lanes = in_flight(turns(begun_after.into_iter()));
            lanes.iter().for_each(|lane| assert!(lane.windows(2).all(|pair| pair[0].end_ns() <= pair[1].start_ns)));
            lanes.iter().map(Vec::len).collect::<Vec<_>>()
        };
        assert_eq!(lengths(vec![10; 40]), [40]);
        assert_eq!(lengths([5; 40].into()), [20, 20]);
        // Once there are four for a moment.
        let burst = [vec![5; 40], vec![1, 1], vec![8; 2], vec![5; 40]].concat();
        assert_eq!(lengths(burst).len(), 2);
        // All at once, and never again: how they go on is unknown.
        assert_eq!(lengths(vec![0; 40]), [0; 0]);
    }
}
