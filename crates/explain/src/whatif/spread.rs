//! Distributions of slow operations, recorded and predicted, with intervals.

use super::calls::{Call, Calls, Drawn};
use super::change::Change;
use super::random::Random;
use super::replay::{Replayed, replay};
use super::same_time::Multiples;
use crate::waits::Waits;

/// Blocks of time that are drawn with repetition.
const BLOCKS: usize = 20;
/// Draws.
const DRAWS: usize = 200;
/// Another recording differs by more than its blocks: the ends of intervals of the same time are off by these factors, as measured
/// (docs/WHATIF.md). How many operations are slow, and of these, how many are of one kind rather than another.
const COUNTS_OFF: f64 = 2.0;
/// How long half of them take, and how long 99 of 100.
const P50_OFF: f64 = 1.25;
const P99_OFF: f64 = 2.25;
/// Operations that must still be slow for percentiles of them to be predicted.
const FEWEST: usize = 10;
/// An interval leaves out this share at each side.
const OUTSIDE: f64 = 0.05;

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

/// A predicted figure with a 90 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Estimate {
    /// The prediction.
    pub value: u64,
    /// Lower end.
    pub low: u64,
    /// Upper end.
    pub high: u64,
}

impl Estimate {
    fn widened(self, factor: f64) -> Estimate {
        let (low, high) = (self.low as f64 / factor, self.high as f64 * factor);
        Estimate { low: low.round() as u64, high: high.round() as u64, ..self }
    }
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
    let draws = Draws::of(&replayed, 1, |taken, ns| Spread::of(waits, taken.iter().map(ns).collect()));
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
    let now = slow(waits, &calls.all, Call::duration_ns, calls.copies);
    let draws = Draws::of(&calls.all, calls.copies, |taken, ns| slow(waits, taken, ns, 1));
    let percentile = |of: fn(&Slow) -> Ranks, factor: f64| {
        let estimate = || draws.between(of(&now).value, |slow| of(slow).low, |slow| of(slow).high).widened(factor);
        (calls.left == 0 || calls.left >= FEWEST).then(estimate)
    };
    let total_ns = draws.estimate(now.total_ns, |slow| slow.total_ns);
    let most_ns = total_ns.high.max(multiples.elapsed_ns().saturating_mul(waits.stands_for));
    let widened_ns = total_ns.widened(COUNTS_OFF);
    SameTime {
        slow: draws.estimate(now.count, |slow| slow.count).widened(COUNTS_OFF),
        total_ns: Estimate { high: widened_ns.high.min(most_ns), ..widened_ns },
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
    fn of(sorted: &[(u64, f64)], count: f64, share: f64) -> Ranks {
        let (below, above) = (share, 1.0 - share);
        let at = |below: f64, above: f64| quantile(sorted, count * below / (below + above));
        Ranks { value: at(below, above), low: at(below, above * COUNTS_OFF), high: at(below * COUNTS_OFF, above) }
    }
}

/// Those that are slow, given so many copies of calls and what they take, each as often as it is done.
fn slow(waits: &Waits, taken: &[Call], ns: fn(&Call) -> u64, copies: usize) -> Slow {
    let slow = taken.iter().filter(|call| ns(call) >= waits.slower_than_ns);
    let mut slow: Vec<(u64, f64)> = slow.map(|call| (ns(call), call.times)).collect();
    slow.sort_unstable_by_key(|(ns, _)| *ns);
    let stands_for = waits.stands_for as f64 / copies as f64;
    let count: f64 = slow.iter().map(|(_, times)| times).sum();
    let total_ns: f64 = slow.iter().map(|(ns, times)| times * *ns as f64).sum();
    Slow {
        count: (count * stands_for).round() as u64,
        total_ns: (total_ns * stands_for).round() as u64,
        p50: Ranks::of(&slow, count, 0.5),
        p99: Ranks::of(&slow, count, 0.99),
    }
}

/// The smallest of these durations up to which so many operations took, given each with how many took it.
fn quantile(sorted: &[(u64, f64)], operations: f64) -> u64 {
    let mut before = 0.0;
    let reaches = |(_, times): &&(u64, f64)| {
        before += times;
        // Sums of fractions are off by less than this.
        before >= operations * (1.0 - 1e-9)
    };
    sorted.iter().find(reaches).map_or(0, |(ns, _)| *ns)
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
}

/// What the run might have recorded: blocks of its time, drawn with repetition. Stalls come in bursts, so operations are
/// not drawn individually.
struct Draws<Figures> {
    /// As predicted.
    figures: Vec<Figures>,
    /// If unexplained time were of the changed kind.
    least: Vec<Figures>,
}

impl<Figures> Draws<Figures> {
    /// `copies`: of so many, one is drawn. `figures`: those of calls, and which of their durations is meant.
    fn of<Of: Copy + Drawn>(
        all: &[Of],
        copies: usize,
        figures_of: impl Fn(&[Of], fn(&Of) -> u64) -> Figures,
    ) -> Draws<Figures> {
        let blocks: Vec<&[Of]> = all.chunks(all.len().div_ceil(BLOCKS * copies).max(1)).collect();
        let (mut figures, mut least) = (Vec::new(), Vec::new());
        if blocks.is_empty() {
            return Draws { figures, least };
        }
        let mut random = Random(blocks.len() as u64);
        for _ in 0..DRAWS {
            let drawn = (0..blocks.len().div_ceil(copies)).map(|_| blocks[random.below(blocks.len())]);
            let taken: Vec<Of> = drawn.flatten().copied().collect();
            figures.push(figures_of(&taken, Of::duration_ns));
            least.push(figures_of(&taken, Of::at_least_ns));
        }
        Draws { figures, least }
    }

    fn estimate(&self, value: u64, figure: impl Fn(&Figures) -> u64) -> Estimate {
        self.between(value, &figure, &figure)
    }

    /// `low`, `high`: the figure at its least and at its most.
    fn between(&self, value: u64, low: impl Fn(&Figures) -> u64, high: impl Fn(&Figures) -> u64) -> Estimate {
        let mut lows: Vec<u64> = self.least.iter().map(low).collect();
        let mut highs: Vec<u64> = self.figures.iter().map(high).collect();
        lows.sort_unstable();
        highs.sort_unstable();
        let outside = (DRAWS as f64 * OUTSIDE) as usize;
        let at = |figures: &[u64], at: usize| figures.get(at).copied().unwrap_or(value);
        Estimate { value, low: at(&lows, outside).min(value), high: at(&highs, DRAWS - 1 - outside).max(value) }
    }
}
