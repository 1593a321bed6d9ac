//! Whether two sides differ over many strata, such as the machines of a fleet, each with a few values on either side.
//!
//! Each stratum has the exact rank-sum test (Wilcoxon 1945) of its values, with ties. Nothing is assumed about their
//! distribution but that, if the sides do not differ, every split of a stratum's values is equally likely. Two tests
//! join the strata, since either is blind to what the other finds:
//!
//! - [`all_strata_p`]: all strata differ a little. The sum of the rank sums (van Elteren 1960). Its variance is that
//!   between strata where that is larger: values of one stratum that depend on each other make the test weaker, not
//!   wrong.
//! - [`few_strata_p`]: a part of the strata differs a lot. Each has a score that grows with its evidence, and the
//!   chance of the scores' sum is counted exactly. Levels at which strata are counted would lose how far a stratum is
//!   beyond its level.

use std::collections::HashMap;
use std::rc::Rc;

use super::beta::normal_upper_tail;
use super::rank::DoubledRanks;

/// p at which a stratum begins to score: the logarithm of the odds of a mixture of few altered strata is about like
/// this, of one in 50 and of one in 4.
const STANDS_OUT: [f64; 2] = [0.002, 0.05];
/// Scores are whole numbers, of which this is one nat.
const NAT: f64 = 16.0;

/// Null distributions by the sizes of the sides and the ties, which many strata share.
#[derive(Debug, Default)]
pub struct Strata {
    nulls: HashMap<(usize, Vec<usize>), Rc<Null>>,
}

/// A stratum: the sum of the ranks of side B, among all of the values.
#[derive(Debug, Clone)]
pub struct Stratum {
    sum: usize,
    values: usize,
    null: Rc<Null>,
}

/// Distribution of a doubled sum of ranks if the sides do not differ.
#[derive(Debug)]
struct Null {
    /// P(sum >= s).
    upper: Vec<f64>,
    mean: f64,
    variance: f64,
    /// Chance of each score, for both of [`STANDS_OUT`].
    scores: [Vec<f64>; 2],
}

impl Null {
    fn of(chances: &[f64]) -> Null {
        let mut upper = chances.to_vec();
        (0..upper.len().saturating_sub(1)).rev().for_each(|at| upper[at] += upper[at + 1]);
        let moment =
            |of: &dyn Fn(f64) -> f64| chances.iter().enumerate().map(|(sum, p)| p * of(sum as f64)).sum::<f64>();
        let mean = moment(&|sum| sum);
        let variance = moment(&|sum| (sum - mean).powi(2));
        let scores = STANDS_OUT.map(|stands_out| {
            let mut scores = Vec::new();
            for (chance, p) in chances.iter().zip(&upper).filter(|(chance, _)| **chance > 0.0) {
                let score = score(*p, stands_out);
                scores.resize(scores.len().max(score + 1), 0.0);
                scores[score] += chance;
            }
            scores
        });
        Null { upper, mean, variance, scores }
    }
}

fn score(p: f64, stands_out: f64) -> usize {
    (NAT * (stands_out / p).ln_1p()).round() as usize
}

impl Strata {
    /// A stratum. `None` where a side is empty. The effort grows with the square of the smaller side.
    pub fn stratum(&mut self, a: &[f64], b: &[f64]) -> Option<Stratum> {
        if a.is_empty() || b.is_empty() {
            return None;
        }
        let ranks = DoubledRanks::of(b, a);
        let (sum, values) = (ranks.sum, ranks.all.len());
        let key = (b.len(), ranks.all);
        let null = match self.nulls.get(&key) {
            Some(null) => Rc::clone(null),
            None => {
                let null = Rc::new(Null::of(&chances(&key.1, b.len())));
                self.nulls.insert(key, Rc::clone(&null));
                null
            }
        };
        Some(Stratum { sum, values, null })
    }
}

/// Chance of each sum of `drawn` of the ranks. Those that are not drawn have the rest of the sum: the fewer of both are
/// counted.
fn chances(ranks: &[usize], drawn: usize) -> Vec<f64> {
    let fewer = drawn.min(ranks.len() - drawn);
    let ways = DoubledRanks::ways(ranks, fewer);
    let all: f64 = ways.iter().sum();
    if fewer == drawn {
        return ways.iter().map(|ways| ways / all).collect();
    }
    let total: usize = ranks.iter().sum();
    let mut chances = vec![0.0; total + 1];
    ways.iter().enumerate().for_each(|(sum, ways)| chances[total - sum] = ways / all);
    chances
}

impl Stratum {
    /// One-sided p: the chance of as large values on side B.
    pub fn p(&self) -> f64 {
        self.null.upper[self.sum].min(1.0)
    }
}

/// One-sided p that side B is larger, over all strata.
pub fn all_strata_p(strata: &[Stratum]) -> f64 {
    // With these weights the strata's sums are as informative as their sizes.
    let weight = |stratum: &Stratum| 1.0 / (stratum.values + 1) as f64;
    let excess: Vec<f64> =
        strata.iter().map(|stratum| weight(stratum) * (stratum.sum as f64 - stratum.null.mean)).collect();
    let known: f64 = strata.iter().map(|stratum| weight(stratum).powi(2) * stratum.null.variance).sum();
    let sum = excess.iter().sum::<f64>();
    let variance = known.max(excess.len() as f64 * variance_between(excess));
    // Half a step of a rank, of the largest that any stratum has. Ranks are doubled.
    let half = strata.iter().map(weight).fold(0.0, f64::max);
    if variance > 0.0 && sum > 0.0 { normal_upper_tail((sum - half).max(0.0) / variance.sqrt()) } else { 1.0 }
}

/// Variance between values. Where those that do differ widen the upper half, that of the lower half around the median.
fn variance_between(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let around = |values: &[f64], middle: f64| {
        values.iter().map(|value| (value - middle).powi(2)).sum::<f64>() / values.len().max(1) as f64
    };
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let median = values.get(values.len() / 2).copied().unwrap_or_default();
    around(&values, mean).min(around(&values[..values.len() / 2], median))
}

/// One-sided p that side B is larger in a part of the strata: the chance of their sum of scores. Two kinds of scores
/// are tried, so that the smaller chance counts twice.
pub fn few_strata_p(strata: &[Stratum]) -> f64 {
    let p = (0..STANDS_OUT.len()).map(|kind| sum_p(strata, kind)).fold(1.0, f64::min);
    (STANDS_OUT.len() as f64 * p).min(1.0)
}

fn sum_p(strata: &[Stratum], kind: usize) -> f64 {
    let found: usize = strata.iter().map(|stratum| score(stratum.p(), STANDS_OUT[kind])).sum();
    if found == 0 {
        return 1.0;
    }
    // Chance of each sum below the one that was found, and of all others. Only sums of positive numbers: small chances
    // stay exact.
    let (mut below, mut reached) = (vec![1.0], 0.0);
    for stratum in strata {
        let scores = &stratum.null.scores[kind];
        let mut sums = vec![0.0; (below.len() + scores.len() - 1).min(found)];
        for (score, chance) in scores.iter().enumerate().filter(|(_, chance)| **chance > 0.0) {
            let kept = below.len().min(found.saturating_sub(score));
            sums[score.min(found)..].iter_mut().zip(&below[..kept]).for_each(|(sum, from)| *sum += chance * from);
            reached += chance * below[kept..].iter().sum::<f64>();
        }
        below = sums;
    }
    reached.min(1.0)
}

#[cfg(test)]
mod tests;
