//! What becomes of the recorded operations of threads that were simulated under another limit.

use std::collections::HashMap;

use super::closed_loop::Simulation;
use super::simulated::{Simulated, is_delayed, is_throttled};
use crate::waits::{Waiting, Waits};

/// The recorded operations that a limit delayed, by thread and whether the limit is on reads. As many of them stay slow
/// as of all of the thread's calls, and take what calls take that are simulated at about the same time; the others no
/// longer wait for the limit.
#[derive(Debug, Default)]
pub(super) struct Outcomes(HashMap<(u32, bool), Outcome>);

#[derive(Debug, Default)]
struct Outcome {
    stay_slow: f64,
    /// What simulated calls take that stay slow, by start, ns.
    slow_ns: Vec<u64>,
    /// Recorded operations in all, and so far.
    operations: usize,
    seen: usize,
    /// Part of a slow operation that is due.
    due: f64,
}

impl Outcomes {
    pub(super) fn of(waits: &Waits, simulation: &Simulation) -> Outcomes {
        let mut outcomes: HashMap<(u32, bool), Outcome> = HashMap::new();
        for (key, stay_slow) in &simulation.stay_slow {
            // Half of one: neither the first nor the last operation is taken to be slow.
            outcomes.insert(*key, Outcome { stay_slow: *stay_slow, due: 0.5, ..Outcome::default() });
        }
        let mut slow: Vec<&Simulated> =
            simulation.turns.iter().flatten().filter(|turn| turn.is_slow_by_limit(waits)).collect();
        slow.sort_by_key(|turn| turn.start_ns);
        for turn in slow {
            outcomes.entry((turn.tid, turn.reads)).and_modify(|fate| fate.slow_ns.push(turn.duration_ns));
        }
        let mut outcomes = Outcomes(outcomes);
        for operation in &waits.operations {
            outcomes.delayed(waits, operation).into_iter().for_each(|(_, fate)| fate.operations += 1);
        }
        outcomes
    }

    /// The duration of a thread's next operation, ns; `None` where it was not simulated. In the order of the recording.
    pub(super) fn next(&mut self, waits: &Waits, operation: &Waiting) -> Option<u64> {
        let (reads, fate) = self.delayed(waits, operation)?;
        fate.due += fate.stay_slow;
        let at = fate.seen * fate.slow_ns.len() / fate.operations.max(1);
        fate.seen += 1;
        if fate.due < 1.0 || fate.slow_ns.is_empty() {
            return Some(without_limit(waits, operation, reads).min(waits.slower_than_ns.saturating_sub(1)));
        }
        fate.due -= 1.0;
        fate.slow_ns.get(at).copied()
    }

    /// Of an operation that a simulated limit delayed.
    fn delayed(&mut self, waits: &Waits, operation: &Waiting) -> Option<(bool, &mut Outcome)> {
        let is_it =
            |reads: &bool| self.0.contains_key(&(operation.tid, *reads)) && is_delayed(waits, operation, *reads);
        let reads = [true, false].into_iter().find(is_it)?;
        Some((reads, self.0.get_mut(&(operation.tid, reads))?))
    }
}

/// What it took besides waiting for a limit, ns.
fn without_limit(waits: &Waits, operation: &Waiting, reads: bool) -> u64 {
    let others = operation.pieces.iter().filter(|(path, _)| !is_throttled(waits, *path, reads));
    let unknown_ns = u64::from(operation.unknown_requests) * waits.device_ns.unwrap_or(0);
    others.map(|(_, ns)| ns).sum::<u64>().saturating_add(unknown_ns)
}
