//! Convoys: tasks that waited at the same time for one holder of one lock, one journal, one freeze, one server. However
//! often they did, it is one convoy.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use crate::blame::culprits::culprit::Culprit;
use crate::blame::culprits::{OfCause, Waiting, waiting};
use crate::blame::facts::cause::{Cause, traits};
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::disks::Disks;
use crate::blame::facts::task_id::TaskId;
use crate::blame::graph::chain::{Start, chain_row, end};
use crate::blame::operations::Operation;
use crate::blame::timeline::timelines::TaskTimelines;
use crate::blame::verdict::explanation::Convoy;
use crate::blame::verdict::wording::describe;
use crate::hashing::FastMap;
use crate::threads::map;
use crate::thresholds::CONVOY_TASKS;

/// Convoys listed: those with the most time.
const LISTED: usize = 20;
/// Victims named: those that waited longest.
const NAMED: usize = 100;
/// What the names of workers begin with that work for all tasks. That of a journal's thread says what it is for.
const WORKER: &str = "kworker/";
/// Segments of one operation that are read at most.
const SEGMENTS: usize = 4096;

/// What a convoy's tasks wait for: the cause, the lock where it is known, and who holds it or is to end the wait.
type Key = (Cause, Option<u32>, Option<u32>);

/// A time in which a task waited.
#[derive(Debug, Clone, Copy)]
struct Wait {
    start_ns: u64,
    end_ns: u64,
    tid: u32,
    row: u32,
}

/// The convoys among the operations, those with the most time first.
pub(crate) fn convoys(
    (index, disks): (&RunIndex, &Disks),
    operations: &[Operation],
    timelines: &mut TaskTimelines<'_>,
    slower_than_ns: u64,
) -> Vec<Convoy> {
    let mut waits: FastMap<Key, Vec<Wait>> = FastMap::default();
    let mut keys: FastMap<(u32, Cause), Key> = FastMap::default();
    for operation in operations {
        let timeline = timelines.of(operation);
        for segment in timeline.between(operation.start_ns, operation.end_ns).take(SEGMENTS) {
            if !segment.cause.has(traits::SHARED) || segment.ns() < slower_than_ns / 2 {
                continue;
            }
            let Some(row) = chain_row(index, &segment) else { continue };
            let key = *keys.entry((row, segment.cause)).or_insert_with(|| key(index, row, segment.cause));
            let (start_ns, end_ns, tid) = (segment.start_ns, segment.end_ns, operation.tid);
            waits.entry(key).or_default().push(Wait { start_ns, end_ns, tid, row });
        }
    }
    let mut convoys: Vec<Convoy> = waits
        .into_iter()
        .filter_map(|(key, waits)| {
            let mut times = overlapping(waits);
            times.retain(|waits| tasks(waits) >= CONVOY_TASKS);
            convoy(index, key, &times)
        })
        .collect();
    convoys.sort_by_key(|convoy| (Reverse(convoy.time_ns), convoy.start_ns));
    convoys.truncate(LISTED);
    name_users_of_workers((index, disks), operations, timelines, &mut convoys);
    convoys
}

/// A kernel worker holds others up because of those that it works for: in its place, of the root blockers of the
/// convoy's waits the one with the most time.
fn name_users_of_workers(
    (index, disks): (&RunIndex, &Disks),
    operations: &[Operation],
    timelines: &mut TaskTimelines<'_>,
    convoys: &mut [Convoy],
) {
    let is_worker = |task: &TaskId| task.name.as_ref().is_some_and(|name| name.starts_with(WORKER));
    let by_worker = |convoy: &&mut Convoy| convoy.holder.as_ref().is_some_and(is_worker);
    let mut by_workers: Vec<&mut Convoy> = convoys.iter_mut().filter(by_worker).collect();
    if by_workers.is_empty() {
        return;
    }
    let blockers = OfCause::new(index, disks);
    // Two at once: each has copies of most operations.
    for convoys in by_workers.chunks_mut(2) {
        let waits: Vec<Vec<Operation>> = convoys.iter().map(|convoy| waits_of(convoy, operations)).collect();
        let all: Vec<(&Convoy, Vec<Waiting<'_>>)> =
            convoys.iter().zip(&waits).map(|(convoy, waits)| (&**convoy, waiting(index, waits, timelines))).collect();
        let users = map(&all, |(convoy, waiting)| {
            let culprits = blockers.of(waiting, convoy.cause).into_iter();
            culprits.filter_map(|culprit| culprit.task).find(|task| !is_worker(task))
        });
        drop(all);
        for (convoy, user) in convoys.iter_mut().zip(users) {
            convoy.holder = user.or(convoy.holder.take());
        }
    }
}

/// What a convoy's victims waited for at its time.
fn waits_of(convoy: &Convoy, operations: &[Operation]) -> Vec<Operation> {
    let victims: BTreeSet<u32> = convoy.named.iter().map(|(victim, _)| victim.tid).collect();
    let (from_ns, to_ns) = (convoy.start_ns, convoy.end_ns);
    let meets = |one: &&Operation| one.start_ns < to_ns && from_ns < one.end_ns && victims.contains(&one.tid);
    let clipped = |one: &Operation| Operation {
        start_ns: one.start_ns.max(from_ns),
        end_ns: one.end_ns.min(to_ns),
        ..one.clone()
    };
    operations.iter().filter(meets).map(clipped).collect()
}

/// Says of each culprit how many tasks it held up at the same time.
pub(crate) fn name_convoys<'a>(index: &RunIndex, culprits: impl Iterator<Item = &'a mut Culprit>, convoys: &[Convoy]) {
    let holders: Vec<(TaskId, &Convoy)> = convoys
        .iter()
        .filter_map(|convoy| {
            let process = |holder: &TaskId| index.tasks.process(holder.tid, convoy.end_ns, &index.names);
            Some((convoy.holder.as_ref().map(process)?, convoy))
        })
        .collect();
    for culprit in culprits {
        let Some(task) = &culprit.task else { continue };
        let is_it = |holder: &TaskId| holder.tid == task.tid || culprit.tasks > 1 && holder.name == task.name;
        let its = holders.iter().filter(|(holder, convoy)| convoy.cause == culprit.cause && is_it(holder));
        culprit.at_once = its.map(|(_, convoy)| convoy.at_once).max().unwrap_or_default();
    }
}

fn key(index: &RunIndex, row: u32, cause: Cause) -> Key {
    let end = end(index, Start::at(index, row, cause));
    let holder = end.tid.map(|tid| index.tasks.process_of(tid, end.at_ns));
    // Those that the convoy's own members hold up come one after the other: the lock is what they share.
    (cause, index.row(row).lock.get(), holder)
}

/// Groups of waits that overlap, directly or through others.
fn overlapping(mut waits: Vec<Wait>) -> Vec<Vec<Wait>> {
    waits.sort_by_key(|wait| (wait.start_ns, wait.end_ns, wait.tid));
    let mut groups: Vec<Vec<Wait>> = Vec::new();
    let mut until_ns = 0;
    for wait in waits {
        match groups.last_mut() {
            Some(group) if wait.start_ns < until_ns => {
                group.push(wait);
                until_ns = wait.end_ns.max(until_ns);
            }
            _ => {
                groups.push(vec![wait]);
                until_ns = wait.end_ns;
            }
        }
    }
    groups
}

fn tasks(waits: &[Wait]) -> usize {
    waits.iter().map(|wait| wait.tid).collect::<BTreeSet<u32>>().len()
}

/// `times`: the waits of each time at which there was a convoy.
fn convoy(index: &RunIndex, (cause, ..): Key, times: &[Vec<Wait>]) -> Option<Convoy> {
    let waits = || times.iter().flatten();
    let mut by_task: HashMap<u32, u64> = HashMap::new();
    for wait in waits() {
        *by_task.entry(wait.tid).or_default() += wait.end_ns - wait.start_ns;
    }
    let longest = waits().max_by_key(|wait| (wait.end_ns - wait.start_ns, Reverse(wait.tid)))?;
    let row = index.row(longest.row);
    let end = end(index, Start::at(index, longest.row, cause));
    let mut victims: Vec<(u32, u64)> = by_task.into_iter().collect();
    victims.sort_by_key(|&(tid, ns)| (Reverse(ns), tid));
    let thread = |tid: u32| index.tasks.thread(tid, row.end_ns, &index.names);
    let processes: BTreeSet<u32> = victims.iter().map(|&(tid, _)| index.tasks.process_of(tid, row.end_ns)).collect();
    Some(Convoy {
        cause,
        holder: end.tid.map(|tid| index.tasks.thread(tid, end.at_ns, &index.names)),
        device: end.request.map(|request| request.device),
        device_name: end.request.and_then(|request| index.disk_name(request.device)),
        detail: describe(index, row, cause),
        lock: row.lock.get(),
        start_ns: waits().map(|wait| wait.start_ns).min()?,
        end_ns: waits().map(|wait| wait.end_ns).max()?,
        times: times.len() as u64,
        at_once: times.iter().map(|waits| tasks(waits)).max()? as u64,
        victims: victims.len() as u64,
        processes: processes.len() as u64,
        process: Some(*processes.first()?)
            .filter(|_| processes.len() == 1)
            .map(|pid| index.tasks.process(pid, row.end_ns, &index.names)),
        time_ns: victims.iter().map(|&(_, ns)| ns).sum(),
        longest_ns: longest.end_ns - longest.start_ns,
        named: victims.iter().take(NAMED).map(|&(tid, ns)| (thread(tid), ns)).collect(),
    })
}
