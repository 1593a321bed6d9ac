//! The calls that threads make in the same time after a change.

use std::collections::BTreeSet;

use super::closed_loop::Simulation;
use super::replay::Replayed;
use super::same_time::Multiples;
use super::simulated::Simulated;
use crate::waits::Waits;

/// Something of which a recording is a sample.
pub(super) trait Drawn {
    fn duration_ns(&self) -> u64;
    /// The same if all unexplained time were of the changed kind.
    fn at_least_ns(&self) -> u64;
    /// How often it is done.
    fn times(&self) -> f64 {
        1.0
    }
    /// The part of it that no other one has, 0 to 1.
    fn once(&self) -> f64 {
        1.0
    }
}

impl Drawn for Replayed {
    fn duration_ns(&self) -> u64 {
        self.duration_ns
    }

    fn at_least_ns(&self) -> u64 {
        self.at_least_ns
    }

    fn once(&self) -> f64 {
        1.0 - self.again
    }
}

/// A call in the same time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    start_ns: u64,
    pub(super) duration_ns: u64,
    at_least_ns: u64,
    /// How often it is made.
    pub(super) times: f64,
}

impl Drawn for Call {
    fn duration_ns(&self) -> u64 {
        self.duration_ns
    }

    fn at_least_ns(&self) -> u64 {
        self.at_least_ns
    }

    fn times(&self) -> f64 {
        self.times
    }
}

/// All calls, as often as they were simulated: one copy after another, each by start.
pub(super) struct Calls {
    pub(super) all: Vec<Call>,
    pub(super) copies: usize,
    /// Slow ones that are known to take what they take: of recorded ones each counts once, however often it is made.
    pub(super) left: usize,
}

impl Calls {
    /// Those of loops under a limit as simulated; others as they are replayed, each as often as there is time for.
    pub(super) fn of(waits: &Waits, simulation: &Simulation, replayed: &[Replayed], multiples: &Multiples) -> Calls {
        let simulated = &simulation.turns;
        let copies = simulated.len().max(1);
        let is_simulated = |of: &Replayed| simulation.has(waits, &waits.operations[of.operation]);
        let is_slow = |ns: u64| ns >= waits.slower_than_ns;
        let others: Vec<Call> = replayed
            .iter()
            .filter(|of| !is_simulated(of))
            .map(|of| Call {
                start_ns: waits.operations[of.operation].start_ns,
                duration_ns: of.duration_ns,
                at_least_ns: of.at_least_ns,
                times: multiples.times(of),
            })
            .collect();
        let slow = |turns: &'_ [Simulated]| turns.iter().filter(|turn| is_slow(turn.duration_ns)).copied().collect();
        let simulated: Vec<Vec<Simulated>> = simulated.iter().map(|turns| slow(turns)).collect();
        let like: BTreeSet<(u32, usize)> =
            simulated.iter().flatten().filter_map(|turn| Some((turn.tid, turn.like?))).collect();
        let delayed = simulated.iter().flatten().filter(|turn| turn.like.is_none()).count() / copies;
        let left = others.iter().filter(|call| is_slow(call.duration_ns)).count() + like.len() + delayed;
        let mut all = Vec::new();
        for copy in 0..copies {
            let turns = simulated.get(copy).into_iter().flatten();
            let mut calls: Vec<Call> = others.iter().copied().chain(turns.map(call)).collect();
            calls.sort_by_key(|call| call.start_ns);
            all.extend(calls);
        }
        Calls { all, copies, left }
    }
}

fn call(turn: &Simulated) -> Call {
    let Simulated { start_ns, duration_ns, .. } = *turn;
    Call { start_ns, duration_ns, at_least_ns: duration_ns, times: 1.0 }
}
