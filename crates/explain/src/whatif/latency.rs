//! Distributions of slow operations, recorded and predicted, with intervals.

use model::cause::Cause;

use super::calls::{Call, Calls, Drawn};
use super::change::Change;
use super::closed_loop::{Simulation, simulate};
use super::draws::{Drawings, Draws, Estimate, Ranked, Sorted};
use super::replay::{Replayed, replay};
use super::same_time::Multiples;
use crate::waits::{Waiting, Waits};

/// Another recording differs by more than its blocks: the ends of intervals of the same time are off by these factors,
/// as measured (docs/WHATIF.md). How many operations are slow, and of these, how many are of one kind rather than
/// another.
const COUNTS_OFF: f64 = 2.0;
/// How long half of them take, and how long 99 of 100.
const P50_OFF: f64 = 1.25;
const P99_OFF: f64 = 2.25;
/// Of the time recorded, what waits take that the recording does not show, because others hid them: up to this part.
/// Where no more than [`FAINT`] of it is predicted to be left, all of it may be gone.
const UNSEEN: f64 = 0.03;
const FAINT: f64 = 0.15;
/// Operations that must still be slow for percentiles of them to be predicted.
const FEWEST: usize = 10;

/// The distribution of some operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SlowLatencies {
    /// Operations that are slow.
    pub slow: u64,
    /// Sum of all durations, ns: what a client and its server both took counts once.
    pub total_ns: u64,
    /// What counts once more in the durations, ns.
    pub again_ns: u64,
    /// Half of the operations took at most this, ns.
    pub p50_ns: u64,
    /// 99 of 100 took at most this, ns.
    pub p99_ns: u64,
    /// The longest, ns.
    pub max_ns: u64,
}

/// What the recorded slow operations would have taken. Percentiles are over the same operations, slow or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Prediction {
    /// As recorded; without the operations of an absent process or cgroup.
    pub recorded: SlowLatencies,
    /// Operations that are still slow.
    pub slow: Estimate,
    /// Sum of all durations, ns: what a client and its server both took counts once.
    pub total_ns: Estimate,
    /// Half of the operations took at most this, ns.
    pub p50_ns: Estimate,
    /// 99 of 100 took at most this, ns.
    pub p99_ns: Estimate,
    /// The longest, ns.
    pub max_ns: Estimate,
    /// Operations that take less time.
    pub changed: u64,
    /// Operations for which the time of a request at its device had to be assumed.
    pub assumed: u64,
    /// What a recording of the same length would hold, where each thread does its operations over again: count and
    /// total of those that are slow, percentiles of them.
    pub in_same_time: SameTime,
    /// From the first start to the last end, ns, where each thread starts its next operation as soon as it can.
    pub elapsed_ns: u64,
}

/// The slow operations of the same time. Where few of the recorded ones are still slow, their percentiles are `None`:
/// most of the slow operations would be others. So they are for pauses of writers whose length the kernel sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SameTime {
    /// How many.
    pub slow: Estimate,
    /// Sum of their durations, ns.
    pub total_ns: Estimate,
    /// Most of what changes are pauses of writers of dirty pages.
    pub sets_pauses: bool,
    /// Half of them took at most this, ns.
    pub p50_ns: Option<Estimate>,
    /// 99 of 100 took at most this, ns.
    pub p99_ns: Option<Estimate>,
}

/// The operations as recorded.
pub fn recorded(waits: &Waits) -> SlowLatencies {
    SlowLatencies::of(waits, waits.operations.iter().map(as_recorded).collect())
}

/// Duration of an operation, and the part of it that is also another one's, ns.
fn as_recorded(operation: &Waiting) -> (u64, u64) {
    (operation.duration_ns(), operation.again_ns())
}

/// The operations after a change.
pub fn predict(waits: &Waits, change: &Change) -> Prediction {
    let after = After::of(waits, change);
    with_intervals(waits, change, &after, before_and_after(waits, &after.replayed))
}

/// The same; `None` where the change saves less than this share of their time. To draw for intervals takes most of the
/// time, and most changes save nothing.
pub(super) fn predict_from(waits: &Waits, change: &Change, least: f64) -> Option<Prediction> {
    let after = After::of(waits, change);
    let (recorded, now) = before_and_after(waits, &after.replayed);
    let saves = recorded.saved(now.total_ns) >= least;
    saves.then(|| with_intervals(waits, change, &after, (recorded, now)))
}

/// What follows from a change.
struct After {
    replayed: Vec<Replayed>,
    simulation: Simulation,
}

impl After {
    fn of(waits: &Waits, change: &Change) -> After {
        let simulation = simulate(waits, change);
        After { replayed: replay(waits, change, &simulation), simulation }
    }
}

/// The distributions of the operations that are left.
fn before_and_after(waits: &Waits, replayed: &[Replayed]) -> (SlowLatencies, SlowLatencies) {
    let before = replayed.iter().map(|of| as_recorded(&waits.operations[of.operation]));
    let after = replayed.iter().map(|of| (of.duration_ns, (of.duration_ns as f64 * of.again).round() as u64));
    (SlowLatencies::of(waits, before.collect()), SlowLatencies::of(waits, after.collect()))
}

fn with_intervals(
    waits: &Waits,
    change: &Change,
    after: &After,
    (recorded, now): (SlowLatencies, SlowLatencies),
) -> Prediction {
    let replayed = &after.replayed;
    let before = |of: &Replayed| waits.operations[of.operation].duration_ns();
    let changed = replayed.iter().filter(|of| of.duration_ns < before(of)).count() as u64;
    let assumed = replayed.iter().filter(|of| of.assumed).count() as u64;
    let ends = replayed.iter().map(|of| of.start_ns + of.duration_ns);
    let starts = replayed.iter().map(|of| of.start_ns);
    let draws = Draws::of(replayed.as_slice(), 1, |sorted, drawings| SlowLatencies::drawn(waits, sorted, drawings));
    Prediction {
        recorded,
        slow: draws.estimate(now.slow, |latencies| latencies.slow),
        total_ns: draws.estimate(now.total_ns, |latencies| latencies.total_ns),
        p50_ns: draws.estimate(now.p50_ns, |latencies| latencies.p50_ns),
        p99_ns: draws.estimate(now.p99_ns, |latencies| latencies.p99_ns),
        max_ns: draws.estimate(now.max_ns, |latencies| latencies.max_ns),
        changed: changed * waits.stands_for,
        assumed: assumed * waits.stands_for,
        in_same_time: in_same_time(waits, change, after),
        elapsed_ns: ends.max().unwrap_or(0) - starts.min().unwrap_or(0),
    }
}

fn in_same_time(waits: &Waits, change: &Change, after: &After) -> SameTime {
    let multiples = Multiples::of(waits, &after.replayed);
    let calls = Calls::of(waits, &after.simulation, &after.replayed, &multiples);
    let now = Slow::of(waits, &Sorted::whole(&calls.all, Call::duration_ns), &[vec![1]], calls.copies)[0];
    let draws = Draws::of(&calls.all, calls.copies, |sorted, drawings| Slow::of(waits, sorted, drawings, 1));
    let sets_pauses = sets_pauses(waits, &after.replayed);
    let percentile = |of: fn(&Slow) -> Ranks, factor: f64| {
        let estimate = || draws.between(of(&now).value, |slow| of(slow).low, |slow| of(slow).high).widened(factor);
        (calls.left == 0 || calls.left >= FEWEST && !sets_pauses).then(estimate)
    };
    let total_ns = draws.estimate(now.total_ns, |slow| slow.total_ns);
    let most_ns = total_ns.high.max(multiples.elapsed_ns().saturating_mul(waits.stands_for));
    let recorded_ns = recorded(waits).durations_ns() as f64;
    let unseen_ns = total_ns.value.saturating_add((recorded_ns * UNSEEN) as u64);
    let is_faint = total_ns.value as f64 <= recorded_ns * FAINT;
    let widened_ns = total_ns.widened(COUNTS_OFF);
    SameTime {
        slow: draws.estimate(now.count, |slow| slow.count).widened(COUNTS_OFF),
        total_ns: Estimate {
            low: if is_faint || change.lifts_limit() { 0 } else { widened_ns.low },
            high: widened_ns.high.min(most_ns).max(unseen_ns),
            ..widened_ns
        },
        sets_pauses,
        p50_ns: percentile(|slow| slow.p50, P50_OFF),
        p99_ns: percentile(|slow| slow.p99, P99_OFF),
    }
}

/// Whether most time of what gets quicker and stays slow is of writers' pauses at the limit of dirty pages. At another
/// speed of the disk the kernel sets their length: their sum is known, and not how many of what length they are
/// (docs/WHATIF.md).
fn sets_pauses(waits: &Waits, replayed: &[Replayed]) -> bool {
    let is_pause =
        |path: u32| waits.paths[path as usize].first().is_some_and(|step| step.cause == Cause::DirtyThrottle);
    let (mut pauses_ns, mut all_ns) = (0, 0);
    for of in replayed {
        let before = &waits.operations[of.operation];
        if of.duration_ns < before.duration_ns() && of.duration_ns >= waits.slower_than_ns {
            all_ns += before.duration_ns();
            pauses_ns += before.pieces.iter().filter(|(path, _)| is_pause(*path)).map(|(_, ns)| ns).sum::<u64>();
        }
    }
    pauses_ns > all_ns / 2
}

/// The slow operations of some.
#[derive(Debug, Clone, Copy)]
struct Slow {
    count: u64,
    total_ns: u64,
    p50: Ranks,
    p99: Ranks,
}

/// A percentile, and what it would be if [`COUNTS_OFF`] times as many were faster or slower than it, ns.
#[derive(Debug, Clone, Copy)]
struct Ranks {
    value: u64,
    low: u64,
    high: u64,
}

impl Ranks {
    /// Of each draw, which has so many calls.
    fn of((slow, takers): (&[Ranked], &[Vec<u32>]), counts: &[f64], share: f64) -> Vec<Ranks> {
        let (below, above) = (share, 1.0 - share);
        // Sums of fractions are off by less than this.
        let until = |count: f64, below: f64, above: f64| count * below / (below + above) * (1.0 - 1e-9);
        let searched = |&count: &f64| Searched {
            until: [
                until(count, below, above * COUNTS_OFF),
                until(count, below, above),
                until(count, below * COUNTS_OFF, above),
            ],
            ..Searched::default()
        };
        let mut draws: Vec<Searched> = counts.iter().map(searched).collect();
        for call in slow {
            takers[call.block as usize].iter().for_each(|draw| draws[*draw as usize].add(call));
        }
        draws.iter().map(|&Searched { ns: [low, value, high], .. }| Ranks { value, low, high }).collect()
    }
}

/// The search for the smallest durations up to which so many calls took, in ascending order.
#[derive(Default)]
struct Searched {
    until: [f64; 3],
    count: f64,
    found: usize,
    ns: [u64; 3],
}

impl Searched {
    fn add(&mut self, call: &Ranked) {
        self.count += call.times;
        while self.until.get(self.found).is_some_and(|until| self.count >= *until) {
            self.ns[self.found] = call.ns;
            self.found += 1;
        }
    }
}

impl Slow {
    /// Those that are slow, of each draw of so many copies of calls, each as often as it is done.
    fn of(waits: &Waits, sorted: &Sorted, drawings: &Drawings, copies: usize) -> Vec<Slow> {
        let calls = &sorted.operations;
        let slow = &calls[calls.partition_point(|call| call.ns < waits.slower_than_ns)..];
        let takers = sorted.takers(drawings);
        let mut sums = vec![(0.0, 0.0); drawings.len()];
        for call in slow {
            let (times, ns) = (call.times, call.times * call.ns as f64);
            for draw in &takers[call.block as usize] {
                let (count, total_ns) = &mut sums[*draw as usize];
                *count += times;
                *total_ns += ns;
            }
        }
        let counts: Vec<f64> = sums.iter().map(|sums| sums.0).collect();
        let [p50, p99] = [0.5, 0.99].map(|share| Ranks::of((slow, &takers), &counts, share));
        let stands_for = waits.stands_for as f64 / copies as f64;
        let whole = |sum: f64| (sum * stands_for).round() as u64;
        let figures = sums.iter().zip(p50.into_iter().zip(p99));
        figures.map(|(sums, (p50, p99))| Slow { count: whole(sums.0), total_ns: whole(sums.1), p50, p99 }).collect()
    }
}

impl SlowLatencies {
    /// The share of the time that is saved where so much is left, 0 to 1.
    pub(super) fn saved(&self, left_ns: u64) -> f64 {
        self.total_ns.saturating_sub(left_ns) as f64 / self.total_ns.max(1) as f64
    }

    /// Sum of all durations, ns.
    pub fn durations_ns(&self) -> u64 {
        self.total_ns.saturating_add(self.again_ns)
    }

    /// Of operations that took this long, of which so much is also another one's, ns.
    fn of(waits: &Waits, mut durations: Vec<(u64, u64)>) -> SlowLatencies {
        durations.sort_unstable();
        let quantile = |share: f64| {
            let rank = (share * durations.len() as f64).ceil() as usize;
            durations.get(rank.saturating_sub(1)).map_or(0, |(ns, _)| *ns)
        };
        let slow = durations.len() - durations.partition_point(|(ns, _)| *ns < waits.slower_than_ns);
        let sum = |of: fn(&(u64, u64)) -> u64| {
            durations.iter().map(of).fold(0_u64, u64::saturating_add).saturating_mul(waits.stands_for)
        };
        SlowLatencies {
            slow: slow as u64 * waits.stands_for,
            total_ns: sum(|(ns, again_ns)| ns - again_ns),
            again_ns: sum(|(_, again_ns)| *again_ns),
            p50_ns: quantile(0.5),
            p99_ns: quantile(0.99),
            max_ns: durations.last().map_or(0, |(ns, _)| *ns),
        }
    }

    /// Of each draw.
    fn drawn(waits: &Waits, sorted: &Sorted, drawings: &Drawings) -> Vec<SlowLatencies> {
        let takers = sorted.takers(drawings);
        let ranks = |count: u64| [0.5, 0.99].map(|share: f64| (share * count as f64).ceil() as u64);
        let begun = |drawn: &Vec<u64>| Taken { ranks: ranks(sorted.count(drawn)), ..Taken::default() };
        let mut draws: Vec<Taken> = drawings.iter().map(begun).collect();
        for operation in &sorted.operations {
            let is_slow = operation.ns >= waits.slower_than_ns;
            takers[operation.block as usize].iter().for_each(|draw| draws[*draw as usize].add(operation, is_slow));
        }
        draws.iter().map(|taken| taken.slow_latencies(waits.stands_for)).collect()
    }
}

/// What a draw has of operations in order of duration.
#[derive(Default)]
struct Taken {
    /// Of the percentiles.
    ranks: [u64; 2],
    of_ranks: [u64; 2],
    count: u64,
    slow: u64,
    total_ns: u128,
    max_ns: u64,
}

impl Taken {
    fn add(&mut self, operation: &Ranked, is_slow: bool) {
        let ns = operation.ns;
        for (rank, of_rank) in self.ranks.iter().zip(&mut self.of_ranks) {
            *of_rank = if self.count < *rank { ns } else { *of_rank };
        }
        self.count += 1;
        self.slow += u64::from(is_slow);
        self.total_ns += if operation.once < 1.0 { (ns as f64 * operation.once) as u128 } else { u128::from(ns) };
        self.max_ns = ns;
    }

    fn slow_latencies(&self, stands_for: u64) -> SlowLatencies {
        let total_ns = u64::try_from(self.total_ns).unwrap_or(u64::MAX);
        SlowLatencies {
            slow: self.slow * stands_for,
            total_ns: total_ns.saturating_mul(stands_for),
            again_ns: 0,
            p50_ns: self.of_ranks[0],
            p99_ns: self.of_ranks[1],
            max_ns: self.max_ns,
        }
    }
}
