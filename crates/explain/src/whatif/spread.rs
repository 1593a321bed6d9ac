//! Distributions of slow operations, recorded and predicted, with intervals.

use super::calls::{Call, Calls, Drawn};
use super::change::Change;
use super::draws::{Draws, Estimate, ONCE, Ranked, Sorted};
use super::replay::{Replayed, replay};
use super::same_time::Multiples;
use crate::waits::Waits;

/// Another recording differs by more than its blocks: the ends of intervals of the same time are off by these factors, as measured
/// (docs/WHATIF.md). How many operations are slow, and of these, how many are of one kind rather than another.
const COUNTS_OFF: f64 = 2.0;
/// How long half of them take, and how long 99 of 100.
const P50_OFF: f64 = 1.25;
const P99_OFF: f64 = 2.25;
/// Of the time recorded, what waits take that the recording does not show, because others hid them: up to this part. Where no more than
/// [`FAINT`] of it is predicted to be left, all of it may be gone.
const UNSEEN: f64 = 0.03;
const FAINT: f64 = 0.15;
/// Operations that must still be slow for percentiles of them to be predicted.
const FEWEST: usize = 10;

/// The distribution of some operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spread {
    /// Operations that are slow.
    pub slow: u64,
    /// Sum of all durations, ns.
    pub total_ns: u64,
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
    pub recorded: Spread,
    /// Operations that are still slow.
    pub slow: Estimate,
    /// Sum of all durations, ns.
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
    /// What a recording of the same length would hold, where each thread does its operations over again: count and total of
    /// those that are slow, percentiles of them.
    pub in_same_time: SameTime,
    /// From the first start to the last end, ns, where each thread starts its next operation as soon as it can.
    pub elapsed_ns: u64,
}

/// The slow operations of the same time. Where few of the recorded ones are still slow, their percentiles are `None`: most of the
/// slow operations would be others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SameTime {
    /// How many.
    pub slow: Estimate,
    /// Sum of their durations, ns.
    pub total_ns: Estimate,
    /// Half of them took at most this, ns.
    pub p50_ns: Option<Estimate>,
    /// 99 of 100 took at most this, ns.
    pub p99_ns: Option<Estimate>,
}

/// The operations as recorded.
pub fn recorded(waits: &Waits) -> Spread {
    let durations: Vec<u64> = waits.operations.iter().map(|operation| operation.duration_ns()).collect();
    Spread::of(waits, durations)
}

/// The operations after a change.
pub fn predict(waits: &Waits, change: &Change) -> Prediction {
    let replayed = replay(waits, change);
    let before = |of: &Replayed| waits.operations[of.operation].duration_ns();
    let now = Spread::of(waits, replayed.iter().map(|of| of.duration_ns).collect());
    let changed = replayed.iter().filter(|of| of.duration_ns < before(of)).count() as u64;
    let assumed = replayed.iter().filter(|of| of.assumed).count() as u64;
    let ends = replayed.iter().map(|of| of.start_ns + of.duration_ns);
    let starts = replayed.iter().map(|of| of.start_ns);
    let draws = Draws::of(&replayed, 1, |sorted, drawn| Spread::drawn(waits, sorted, drawn));
    Prediction {
        recorded: Spread::of(waits, replayed.iter().map(before).collect()),
        slow: draws.estimate(now.slow, |spread| spread.slow),
        total_ns: draws.estimate(now.total_ns, |spread| spread.total_ns),
        p50_ns: draws.estimate(now.p50_ns, |spread| spread.p50_ns),
        p99_ns: draws.estimate(now.p99_ns, |spread| spread.p99_ns),
        max_ns: draws.estimate(now.max_ns, |spread| spread.max_ns),
        changed: changed * waits.stands_for,
        assumed: assumed * waits.stands_for,
        in_same_time: in_same_time(waits, change, &replayed),
        elapsed_ns: ends.max().unwrap_or(0) - starts.min().unwrap_or(0),
    }
}

fn in_same_time(waits: &Waits, change: &Change, replayed: &[Replayed]) -> SameTime {
    let multiples = Multiples::of(waits, replayed);
    let calls = Calls::of(waits, change, replayed, &multiples);
    let now = Slow::of(waits, &Sorted::whole(&calls.all, Call::duration_ns), &ONCE, calls.copies);
    let draws = Draws::of(&calls.all, calls.copies, |sorted, drawn| Slow::of(waits, sorted, drawn, 1));
    let percentile = |of: fn(&Slow) -> Ranks, factor: f64| {
        let estimate = || draws.between(of(&now).value, |slow| of(slow).low, |slow| of(slow).high).widened(factor);
        (calls.left == 0 || calls.left >= FEWEST).then(estimate)
    };
    let total_ns = draws.estimate(now.total_ns, |slow| slow.total_ns);
    let most_ns = total_ns.high.max(multiples.elapsed_ns().saturating_mul(waits.stands_for));
    let recorded_ns = recorded(waits).total_ns as f64;
    let unseen_ns = total_ns.value.saturating_add((recorded_ns * UNSEEN) as u64);
    let is_faint = total_ns.value as f64 <= recorded_ns * FAINT;
    let widened_ns = total_ns.widened(COUNTS_OFF);
    SameTime {
        slow: draws.estimate(now.count, |slow| slow.count).widened(COUNTS_OFF),
        total_ns: Estimate {
            low: if is_faint { 0 } else { widened_ns.low },
            high: widened_ns.high.min(most_ns).max(unseen_ns),
            ..widened_ns
        },
        p50_ns: percentile(|slow| slow.p50, P50_OFF),
        p99_ns: percentile(|slow| slow.p99, P99_OFF),
    }
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
    fn of(slow: &[Ranked], until: &[f64], share: f64) -> Ranks {
        let count = until.last().copied().unwrap_or(0.0);
        let (below, above) = (share, 1.0 - share);
        let at = |below: f64, above: f64| quantile(slow, until, count * below / (below + above));
        Ranks { value: at(below, above), low: at(below, above * COUNTS_OFF), high: at(below * COUNTS_OFF, above) }
    }
}

impl Slow {
    /// Those that are slow of a draw of so many copies of calls, each as often as it is done.
    fn of(waits: &Waits, sorted: &Sorted, drawn: &[u64], copies: usize) -> Slow {
        let calls = &sorted.operations;
        let slow = &calls[calls.partition_point(|call| call.ns < waits.slower_than_ns)..];
        let (mut count, mut total_ns) = (0.0, 0.0);
        let mut until = Vec::with_capacity(slow.len());
        for call in slow {
            for _ in 0..drawn[call.block as usize] {
                count += call.times;
                total_ns += call.times * call.ns as f64;
            }
            until.push(count);
        }
        let stands_for = waits.stands_for as f64 / copies as f64;
        Slow {
            count: (count * stands_for).round() as u64,
            total_ns: (total_ns * stands_for).round() as u64,
            p50: Ranks::of(slow, &until, 0.5),
            p99: Ranks::of(slow, &until, 0.99),
        }
    }
}

/// The smallest of these durations up to which so many operations took, given how many took each or less.
fn quantile(slow: &[Ranked], until: &[f64], operations: f64) -> u64 {
    // Sums of fractions are off by less than this.
    let first = until.partition_point(|before| *before < operations * (1.0 - 1e-9));
    slow.get(first).filter(|_| operations > 0.0).map_or(0, |call| call.ns)
}

impl Spread {
    /// Of operations that took this long.
    pub(super) fn of(waits: &Waits, mut durations: Vec<u64>) -> Spread {
        durations.sort_unstable();
        let quantile = |share: f64| {
            let rank = (share * durations.len() as f64).ceil() as usize;
            durations.get(rank.saturating_sub(1)).copied().unwrap_or(0)
        };
        let slow = durations.len() - durations.partition_point(|ns| *ns < waits.slower_than_ns);
        Spread {
            slow: slow as u64 * waits.stands_for,
            total_ns: durations.iter().fold(0_u64, |sum, ns| sum.saturating_add(*ns)).saturating_mul(waits.stands_for),
            p50_ns: quantile(0.5),
            p99_ns: quantile(0.99),
            max_ns: durations.last().copied().unwrap_or(0),
        }
    }

    /// Of a draw.
    fn drawn(waits: &Waits, sorted: &Sorted, drawn: &[u64]) -> Spread {
        let count = sorted.count(drawn);
        let ranks = [0.5, 0.99].map(|share: f64| (share * count as f64).ceil() as u64);
        let (mut before, mut slow, mut total_ns, mut of_ranks, mut max_ns) = (0, 0, 0_u128, [0; 2], 0);
        for operation in &sorted.operations {
            let times = drawn[operation.block as usize];
            if times == 0 {
                continue;
            }
            for (rank, ns) in ranks.iter().zip(&mut of_ranks) {
                *ns = if before < *rank { operation.ns } else { *ns };
            }
            before += times;
            slow += if operation.ns < waits.slower_than_ns { 0 } else { times };
            total_ns += u128::from(operation.ns) * u128::from(times);
            max_ns = operation.ns;
        }
        let total_ns = u64::try_from(total_ns).unwrap_or(u64::MAX);
        Spread {
            slow: slow * waits.stands_for,
            total_ns: total_ns.saturating_mul(waits.stands_for),
            p50_ns: of_ranks[0],
            p99_ns: of_ranks[1],
            max_ns,
        }
    }
}
