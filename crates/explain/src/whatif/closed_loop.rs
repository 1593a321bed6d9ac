//! Closed loops under a limit, simulated with another limit or without one of them.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use model::cause::Cause;
use model::effect::Edge;
use model::wait_kind::WaitKind;

use super::change::{Absence, Change, is_changed};
use super::held::{waiters, waits_for};
use super::simulated::{Simulated, is_delayed};
use super::throttle::{Rate, Throttle};
use crate::waits::{IoLimit, Loop, Moved, Step, Turn, Waiting, Waits};
use statistics::SplitMix64;

/// Simulations, from which results are taken together: each chooses turns by chance.
const REPEATS: usize = 4;
/// Turns around a moment that are alike.
const AROUND: usize = 4;
/// Turns of a loop from which on it is one.
const FEWEST: usize = 8;
/// Turns that are simulated: more would be of loops that neither the limit nor they themselves slow down.
const MOST: usize = 200_000;
/// A simulation without a change that is off by more than this does not describe the load.
const OFF: f64 = 0.25;

/// What the loops under limits that a change concerns do after it.
#[derive(Debug, Default)]
pub(super) struct Simulation {
    /// The threads of operations of which that is known, each with whether the limit is on reads.
    threads: HashSet<(u32, bool)>,
    /// Their turns, [`REPEATS`] times; empty where there are no threads.
    pub(super) turns: Vec<Vec<Simulated>>,
    /// By the same, how many of its calls that the limit made slow still are, 0 to 1.
    pub(super) stay_slow: HashMap<(u32, bool), f64>,
}

impl Simulation {
    /// Whether an operation is one of a simulated loop: not one that only the other limit delayed.
    pub(super) fn has(&self, waits: &Waits, operation: &Waiting) -> bool {
        let is_delayed = |reads| is_delayed(waits, operation, reads);
        let is_it =
            |reads| self.threads.contains(&(operation.tid, reads)) && (is_delayed(reads) || !is_delayed(!reads));
        is_it(true) || is_it(false)
    }
}

/// A simulation: turns of some threads that took any time, and how many they made in all.
#[derive(Debug, Default)]
struct Ran {
    turns: Vec<Simulated>,
    made: HashMap<u32, u32>,
}

impl Ran {
    /// The part of a thread's turns that the limit makes slow.
    fn slow_part(&self, waits: &Waits, tid: u32) -> f64 {
        let is_slow = |turn: &&Simulated| turn.tid == tid && turn.is_slow_by_limit(waits);
        self.turns.iter().filter(is_slow).count() as f64 / f64::from(self.made.get(&tid).copied().unwrap_or(0).max(1))
    }
}

/// Simulates the loops after a change.
pub(super) fn simulate(waits: &Waits, change: &Change) -> Simulation {
    let mut simulation = Simulation::default();
    for limit in &waits.limited {
        let Some((after, absent)) = changed(waits, change, limit) else { continue };
        let paces: Vec<Pace> = limit.loops.iter().map(pace).collect();
        let waiters = waiters(waits, limit);
        let of_operations = limit.loops.iter().filter(|each| each.is_of_operations).map(|each| each.tid);
        let of_operations: HashSet<u32> = of_operations.collect();
        let mut wanted = of_operations.clone();
        wanted.extend(waiters.iter().map(|waiter| waiter.holder));
        let Some(before) = as_recorded(waits, limit, &paces, &wanted) else { continue };
        let present = limit.loops.iter().zip(&paces).filter(|(each, _)| !absent.contains(&each.tid));
        let loops: Vec<(&Loop, &Pace)> = present.collect();
        simulation.turns.resize(REPEATS, Vec::new());
        let mut parts: HashMap<u32, f64> = HashMap::new();
        for (turns, seed) in simulation.turns.iter_mut().zip(1..) {
            let all = run(&loops, (after, limit.reads), seed, &wanted);
            wanted
                .iter()
                .for_each(|tid| *parts.entry(*tid).or_default() += all.slow_part(waits, *tid) / REPEATS as f64);
            turns.extend(waits_for(&waiters, &all.turns, seed));
            turns.extend(all.turns.into_iter().filter(|turn| of_operations.contains(&turn.tid)));
        }
        let stay = |tid: &u32| parts[tid] / before.slow_part(waits, *tid);
        let held = waiters.iter().map(|waiter| (waiter.tid, waiter.holder));
        for (tid, slot) in of_operations.iter().map(|tid| (*tid, *tid)).chain(held) {
            simulation.threads.insert((tid, limit.reads));
            let stays = Some(stay(&slot)).filter(|part| part.is_finite());
            simulation.stay_slow.extend(stays.map(|part| ((tid, limit.reads), part.min(1.0))));
        }
    }
    simulation
}

fn rate(limit: &IoLimit, factor: f64) -> Rate {
    let raised = |per_s: Option<u64>| per_s.map(|per_s| per_s as f64 * factor);
    Rate { bytes_per_s: raised(limit.bytes_per_s), per_s: raised(limit.per_s) }
}

/// The limit after a change, and the threads that are absent; `None` where it is not this limit that changes.
fn changed(waits: &Waits, change: &Change, limit: &IoLimit) -> Option<(Rate, HashSet<u32>)> {
    match change {
        // Without a limit nothing is to be simulated.
        Change::Edge { effect, of } => {
            let kind = Some(if limit.reads { WaitKind::Read } else { WaitKind::Write });
            let device = Some(limit.device);
            let step =
                Step { cause: Cause::IoThrottle, kind, device, blamed: None, tid: 0, syncs: false, occasion: None };
            let is_it = effect.edge == Edge::IoLimit && is_changed(*effect, of, &step);
            effect.factor.filter(|_| is_it).map(|factor| (rate(limit, factor), HashSet::new()))
        }
        Change::Absent(absence) => {
            let absent = absent(waits, absence, limit);
            (!absent.is_empty()).then(|| (rate(limit, 1.0), absent))
        }
        Change::Refaults(_) => None,
    }
}

fn absent(waits: &Waits, absence: &Absence, limit: &IoLimit) -> HashSet<u32> {
    let is_it = |tid: u32| absence.threads.contains(&tid) || absence.has(waits, tid);
    limit.loops.iter().map(|each| each.tid).filter(|tid| is_it(*tid)).collect()
}

/// What a loop does between its recorded turns.
#[derive(Debug, Clone, Default)]
struct Pace {
    /// Bytes of a usual turn.
    bytes: f64,
    /// Before each recorded turn: the time between turns so far, ns, and the turns in it that were too short to be
    /// recorded.
    before: Vec<(f64, f64)>,
    /// The recorded turns that the limit delayed, and the others.
    delayed: Vec<usize>,
    free: Vec<usize>,
}

impl Pace {
    fn new(of: &Loop, bytes: f64, gaps: &[(f64, f64)]) -> Pace {
        let sum = |sum: &mut (f64, f64), gap: &(f64, f64)| {
            let before = *sum;
            *sum = (before.0 + gap.0, before.1 + gap.1);
            Some(before)
        };
        // The last turn has no gap, and there is a sum after it.
        let before = gaps.iter().chain(&[(0.0, 0.0); 2]).scan((0.0, 0.0), sum).collect();
        let (delayed, free) = (0..of.turns.len()).partition(|at| of.turns[*at].throttled_ns > 0);
        Pace { bytes, before, delayed, free }
    }

    /// The time between these turns, ns, and the short turns in it.
    fn between(&self, turns: &Range<usize>) -> (f64, f64) {
        let (from, to) = (self.before[turns.start], self.before[turns.end]);
        (to.0 - from.0, to.1 - from.1)
    }

    fn like(&self, turns: &Range<usize>, is_delayed: bool) -> &[usize] {
        let all = if is_delayed { &self.delayed } else { &self.free };
        &all[all.partition_point(|at| *at < turns.start)..all.partition_point(|at| *at < turns.end)]
    }

    /// Turns around one among which there are enough of a kind, if there are in all.
    fn around(&self, at: usize, is_delayed: bool) -> Range<usize> {
        let count = self.delayed.len() + self.free.len();
        let mut by = AROUND;
        loop {
            let turns = at.saturating_sub(by)..(at + by).min(count);
            let short = if is_delayed { 0.0 } else { self.between(&turns).1 };
            if turns.len() == count || self.like(&turns, is_delayed).len() as f64 + short >= AROUND as f64 {
                return turns;
            }
            by *= 2;
        }
    }
}

/// What it moved that is not recorded individually was short turns, in the time between the others.
fn pace(of: &Loop) -> Pace {
    let mut sizes: Vec<u64> = of.turns.iter().map(|turn| turn.bytes).collect();
    sizes.sort_unstable();
    let bytes = sizes.get(sizes.len() / 2).copied().unwrap_or(0).max(1) as f64;
    let next = of.turns.iter().skip(1).map(|turn| turn.start_ns);
    let borders: Vec<(u64, u64)> = of.turns.iter().map(Turn::end_ns).zip(next).collect();
    let mut gaps: Vec<(f64, f64)> = borders.iter().map(|(from, to)| (to.saturating_sub(*from) as f64, 0.0)).collect();
    let mut known_ns = vec![0.0; gaps.len()];
    let mut short_bytes = 0.0;
    for moved in of.moved.iter().filter(|moved| is_within(of, moved)) {
        let ends = |at_ns: u64| of.turns.partition_point(|turn| turn.end_ns() < at_ns);
        let recorded: u64 = of.turns[ends(moved.start_ns)..ends(moved.end_ns)].iter().map(|turn| turn.bytes).sum();
        let overlap_ns =
            |(from, to): &(u64, u64)| moved.end_ns.min(*to).saturating_sub(moved.start_ns.max(*from)) as f64;
        let first = borders.partition_point(|(_, to)| *to <= moved.start_ns);
        let last = borders.partition_point(|(from, _)| *from < moved.end_ns).max(first);
        let all_ns: f64 = borders[first..last].iter().map(overlap_ns).sum();
        known_ns[first..last].iter_mut().zip(&borders[first..last]).for_each(|(ns, border)| *ns += overlap_ns(border));
        // A turn at a border counts in one of the two times.
        short_bytes += moved.bytes as f64 - recorded as f64;
        if short_bytes > 0.0 && all_ns > 0.0 {
            for (border, gap) in borders[first..last].iter().zip(&mut gaps[first..last]) {
                gap.1 += short_bytes / bytes * overlap_ns(border) / all_ns;
            }
            short_bytes = 0.0;
        }
    }
    fill_ends(&mut gaps, &known_ns);
    Pace::new(of, bytes, &gaps)
}

/// Whether all of what was moved in that time was moved between the first recorded turn and the last, or there is no
/// such time.
fn is_within(of: &Loop, moved: &Moved) -> bool {
    let first_ns = of.turns.first().map_or(0, |turn| turn.start_ns);
    let last_ns = of.turns.last().map_or(0, Turn::end_ns);
    let within = |moved: &Moved| moved.start_ns >= first_ns && moved.end_ns <= last_ns;
    within(moved) || !of.moved.iter().any(within)
}

/// Before and after the times of which it is known, as many turns were short as next to them.
fn fill_ends(gaps: &mut [(f64, f64)], known_ns: &[f64]) {
    let known: Vec<usize> = (0..gaps.len()).filter(|at| known_ns[*at] > 0.0).collect();
    let frequency = |near: &[usize]| {
        let (ns, short) = near.iter().fold((0.0, 0.0), |sum, at| (sum.0 + known_ns[*at], sum.1 + gaps[*at].1));
        short / ns
    };
    let near = known.len().min(2 * AROUND);
    if near == 0 {
        return;
    }
    let (at_begin, at_end) = (frequency(&known[..near]), frequency(&known[known.len() - near..]));
    let middle = known[known.len() / 2];
    for (at, (gap, known_ns)) in gaps.iter_mut().zip(known_ns).enumerate() {
        gap.1 += (gap.0 - known_ns).max(0.0) * if at < middle { at_begin } else { at_end };
    }
}

/// A simulation of the load as it was, if it is like the recording of those threads: as many turns that the limit
/// delays, and as long.
fn as_recorded(waits: &Waits, limit: &IoLimit, paces: &[Pace], wanted: &HashSet<u32>) -> Option<Ran> {
    let loops: Vec<(&Loop, &Pace)> = limit.loops.iter().zip(paces).collect();
    let of_them = limit.loops.iter().filter(|each| wanted.contains(&each.tid));
    let turns = of_them.clone().flat_map(|each| &each.turns);
    if of_them.clone().any(|each| each.turns.len() < FEWEST) {
        return None;
    }
    let recorded: Vec<u64> = turns.map(Turn::duration_ns).filter(|ns| *ns >= waits.slower_than_ns).collect();
    let now = run(&loops, (rate(limit, 1.0), limit.reads), 1, wanted);
    let simulated: Vec<u64> =
        now.turns.iter().map(|turn| turn.duration_ns).filter(|ns| *ns >= waits.slower_than_ns).collect();
    let is_close = |a: f64, b: f64| (a / b.max(1.0) - 1.0).abs() <= OFF;
    let is_like = is_close(simulated.len() as f64, recorded.len() as f64)
        && is_close(simulated.iter().sum::<u64>() as f64, recorded.iter().sum::<u64>() as f64);
    is_like.then_some(now)
}

/// A loop in a simulation.
struct Running<'a> {
    of: &'a Loop,
    pace: &'a Pace,
    next_ns: f64,
    /// The recorded turn of this moment.
    at: usize,
}

/// The turns of those threads, for as long as the recorded ones lasted.
fn run(loops: &[(&Loop, &Pace)], (rate, reads): (Rate, bool), seed: u64, wanted: &HashSet<u32>) -> Ran {
    let turns = || loops.iter().flat_map(|each| &each.0.turns);
    let (from_ns, to_ns) = (turns().map(|turn| turn.start_ns).min(), turns().map(Turn::end_ns).max());
    let (Some(from_ns), Some(to_ns)) = (from_ns, to_ns) else { return Ran::default() };
    let mut throttle = Throttle::new(rate);
    let mut random = SplitMix64::of(seed);
    let begin = |of: &Loop| of.turns.first().map_or(0.0, |turn| (turn.start_ns - from_ns) as f64);
    let mut running: Vec<Running> =
        loops.iter().map(|&(of, pace)| Running { of, pace, next_ns: begin(of), at: 0 }).collect();
    let mut ran = Ran::default();
    for _ in 0..MOST {
        let Some(first) = running.iter_mut().min_by(|a, b| a.next_ns.total_cmp(&b.next_ns)) else { break };
        let start_ns = first.next_ns;
        if start_ns >= (to_ns - from_ns) as f64 {
            break;
        }
        let passed_ns = throttle.pass(start_ns, first.pace.bytes);
        let (rest_ns, like, pace_ns) = first.turn(from_ns, passed_ns > start_ns, &mut random);
        let duration_ns = passed_ns - start_ns + rest_ns;
        first.next_ns = start_ns + duration_ns + pace_ns;
        if !wanted.contains(&first.of.tid) {
            continue;
        }
        *ran.made.entry(first.of.tid).or_default() += 1;
        if duration_ns > 0.0 {
            let like = like.filter(|_| passed_ns <= start_ns);
            let start_ns = from_ns + start_ns as u64;
            ran.turns.push(Simulated { tid: first.of.tid, reads, start_ns, duration_ns: duration_ns as u64, like });
        }
    }
    ran
}

impl Running<'_> {
    /// The rest of a turn at this moment, the recorded turn that it is like, and the time until the next turn, ns.
    fn turn(&mut self, from_ns: u64, is_delayed: bool, random: &mut SplitMix64) -> (f64, Option<usize>, f64) {
        let turns = &self.of.turns;
        let now_ns = from_ns + self.next_ns as u64;
        while turns.get(self.at + 1).is_some_and(|turn| turn.start_ns <= now_ns) {
            self.at += 1;
        }
        let near = self.at.saturating_sub(AROUND)..(self.at + AROUND).min(turns.len());
        let (gap_ns, short) = self.pace.between(&near);
        let pace_ns = gap_ns / (short + near.len() as f64).max(1.0);
        let around = self.pace.around(self.at, is_delayed);
        let like = self.pace.like(&around, is_delayed);
        let short = if is_delayed { 0.0 } else { self.pace.between(&around).1 };
        let all = short + like.len() as f64;
        if all >= AROUND as f64 && random.unit() * all < short {
            return (0.0, None, pace_ns);
        }
        // Too few do not say what is usual.
        let is_known = all >= AROUND as f64 && !like.is_empty();
        let chosen = if is_known { like[random.below(like.len())] } else { near.start + random.below(near.len()) };
        (turns[chosen].rest_ns as f64, Some(chosen), pace_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::{Loop, Moved, Turn, pace};

    const S: u64 = 1_000_000_000;

    /// One turn of 10 bytes each second is recorded, from 1.2 s to 5.2 s, with three short ones between two. In its
    /// first second it moved as much again before the first turn.
    #[test]
    fn what_was_moved_before_the_first_turn_is_not_between_turns() {
        let turn = |at: u64| Turn { start_ns: at * S + S / 5, throttled_ns: S / 2, rest_ns: 0, bytes: 10 };
        let moved = |at: u64, bytes| Moved { start_ns: at * S, end_ns: (at + 1) * S, bytes };
        let all = Loop {
            tid: 7,
            is_of_operations: true,
            turns: (1..6).map(turn).collect(),
            moved: vec![moved(1, 90), moved(2, 40), moved(3, 40), moved(4, 40), moved(5, 10)],
        };
        let pace = pace(&all);
        for at in 0..4 {
            let (_, short) = pace.between(&(at..at + 1));
            assert!((short - 3.0).abs() < 0.5, "{short} after turn {at}");
        }
    }
}
