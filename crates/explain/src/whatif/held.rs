//! Threads that wait for a lock whose holder a limit delays: with another limit they wait for as long as its calls then
//! take.

use std::collections::{BTreeMap, HashMap};

use model::cause::Cause;

use super::simulated::Simulated;
use crate::waits::{IoLimit, Loop, Path, Waiting, Waits};
use statistics::SplitMix64;

/// Part of a thread's time that waits for one holder are at least.
const MOST: f64 = 0.8;
/// Waits from which on it is known how a thread waits.
const FEWEST: usize = 8;

/// A thread whose operations wait for a lock of another one.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) tid: u32,
    pub(super) holder: u32,
    /// Its waits for each call of the holder that the limit delays, at most 1.
    often: f64,
    /// Part of such a call that a wait lasts for, at most 1.
    part: f64,
}

/// The threads of operations that wait for a loop under that limit, and are none themselves.
pub(super) fn waiters(waits: &Waits, limit: &IoLimit) -> Vec<Waiter> {
    let loops: HashMap<u32, &Loop> = limit.loops.iter().map(|each| (each.tid, each)).collect();
    let mut threads: BTreeMap<u32, Vec<&Waiting>> = BTreeMap::new();
    for operation in waits.operations.iter().filter(|operation| !loops.contains_key(&operation.tid)) {
        threads.entry(operation.tid).or_default().push(operation);
    }
    threads.into_iter().filter_map(|(tid, operations)| waiter(waits, tid, &operations, &loops)).collect()
}

fn waiter(waits: &Waits, tid: u32, operations: &[&Waiting], loops: &HashMap<u32, &Loop>) -> Option<Waiter> {
    let mut held: BTreeMap<u32, (usize, u64)> = BTreeMap::new();
    for operation in operations {
        let holder = holder(waits, operation, loops);
        let sum = holder.map(|holder| held.entry(holder).or_default());
        sum.into_iter().for_each(|(count, ns)| (*count, *ns) = (*count + 1, *ns + operation.duration_ns()));
    }
    let (holder, (count, ns)) = held.into_iter().max_by_key(|(_, (_, ns))| *ns)?;
    let all_ns: u64 = operations.iter().map(|operation| operation.duration_ns()).sum();
    let delayed = || loops[&holder].turns.iter().filter(|turn| turn.throttled_ns > 0);
    let (turns, turns_ns) = (delayed().count(), delayed().map(|turn| turn.duration_ns()).sum::<u64>());
    let is_known = count >= FEWEST && turns >= FEWEST && ns as f64 >= MOST * all_ns as f64;
    let often = count as f64 / turns.max(1) as f64;
    let part = (ns as f64 / count as f64) / (turns_ns as f64 / turns.max(1) as f64);
    is_known.then(|| Waiter { tid, holder, often: often.min(1.0), part: part.min(1.0) })
}

/// The loop for whose lock most of an operation waited.
fn holder(waits: &Waits, operation: &Waiting, loops: &HashMap<u32, &Loop>) -> Option<u32> {
    let held_by = |path: &Path| match path.as_slice() {
        [wait, holder, ..] if wait.cause == Cause::Lock && loops.contains_key(&holder.tid) => Some(holder.tid),
        _ => None,
    };
    let mut held: BTreeMap<u32, u64> = BTreeMap::new();
    for (path, ns) in &operation.pieces {
        held_by(&waits.paths[*path as usize]).into_iter().for_each(|tid| *held.entry(tid).or_default() += ns);
    }
    let (holder, ns) = held.into_iter().max_by_key(|(_, ns)| *ns)?;
    (ns as f64 >= MOST * operation.duration_ns() as f64).then_some(holder)
}

/// What the threads wait for while their holders make these turns.
pub(super) fn waits_for(waiters: &[Waiter], turns: &[Simulated], seed: u64) -> Vec<Simulated> {
    let mut random = SplitMix64::of(seed);
    let mut waits = Vec::new();
    for turn in turns {
        for waiter in waiters.iter().filter(|waiter| waiter.holder == turn.tid) {
            if random.unit() < waiter.often {
                let duration_ns = (turn.duration_ns as f64 * waiter.part) as u64;
                waits.push(Simulated { tid: waiter.tid, duration_ns, like: None, ..*turn });
            }
        }
    }
    waits
}
