//! What becomes of the recorded operations of threads that were simulated under another limit.

use std::collections::HashMap;

use model::cause::Cause;

use super::looped::Simulation;
use super::simulated::Simulated;
use crate::waits::{Waiting, Waits};

/// The recorded operations that the limit delayed, by thread. As many of them stay slow as of all of the thread's calls, and take what calls take
/// that are simulated at about the same time; the others no longer wait for the limit.
#[derive(Debug, Default)]
pub(super) struct Fates(HashMap<u32, Fate>);

#[derive(Debug, Default)]
struct Fate {
    stay_slow: f64,
    /// What simulated calls take that stay slow, by start, ns.
    slow_ns: Vec<u64>,
    /// Recorded operations in all, and so far.
    operations: usize,
    seen: usize,
    /// Part of a slow operation that is due.
    due: f64,
}

impl Fates {
    pub(super) fn of(waits: &Waits, simulation: &Simulation) -> Fates {
        let mut fates: HashMap<u32, Fate> = HashMap::new();
        for (tid, stay_slow) in &simulation.stay_slow {
            // Half of one: neither the first nor the last operation is taken to be slow.
            fates.insert(*tid, Fate { stay_slow: *stay_slow, due: 0.5, ..Fate::default() });
        }
        let mut slow: Vec<&Simulated> =
            simulation.turns.iter().flatten().filter(|turn| turn.is_slow_by_limit(waits)).collect();
        slow.sort_by_key(|turn| turn.start_ns);
        for turn in slow {
            fates.entry(turn.tid).and_modify(|fate| fate.slow_ns.push(turn.duration_ns));
        }
        for operation in waits.operations.iter().filter(|operation| is_delayed(waits, operation)) {
            fates.entry(operation.tid).and_modify(|fate| fate.operations += 1);
        }
        Fates(fates)
    }

    /// The duration of a thread's next operation, ns; `None` where it was not simulated. In the order of the recording.
    pub(super) fn next(&mut self, waits: &Waits, operation: &Waiting) -> Option<u64> {
        let fate = self.0.get_mut(&operation.tid)?;
        if !is_delayed(waits, operation) {
            return None;
        }
        fate.due += fate.stay_slow;
        let at = fate.seen * fate.slow_ns.len() / fate.operations.max(1);
        fate.seen += 1;
        if fate.due < 1.0 || fate.slow_ns.is_empty() {
            return Some(without_limit(waits, operation).min(waits.slower_than_ns.saturating_sub(1)));
        }
        fate.due -= 1.0;
        fate.slow_ns.get(at).copied()
    }
}

fn is_throttled(waits: &Waits, path: u32) -> bool {
    waits.paths[path as usize].iter().any(|step| step.cause == Cause::IoThrottle)
}

fn is_delayed(waits: &Waits, operation: &Waiting) -> bool {
    operation.pieces.iter().any(|(path, _)| is_throttled(waits, *path))
}

/// What it took besides waiting for a limit, ns.
fn without_limit(waits: &Waits, operation: &Waiting) -> u64 {
    let others = operation.pieces.iter().filter(|(path, _)| !is_throttled(waits, *path));
    let unknown_ns = u64::from(operation.unknown_requests) * waits.device_ns.unwrap_or(0);
    others.map(|(_, ns)| ns).sum::<u64>().saturating_add(unknown_ns)
}
