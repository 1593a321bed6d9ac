//! The rank-sum test and the ratio of two sides over a few strata, such as machines on which both were tried.
//!
//! Values are ranked within their stratum only, so that what makes strata differ is neither an effect nor noise. The
//! test is van Elteren's (1960): the sum of the strata's rank sums, weighted by about the inverse of (values + 1),
//! which is best against an equal shift in all of them. Its distribution is enumerated over all splits within the
//! strata, with ties; that holds for any weights. The estimate is the median of the log ratios of values of one
//! stratum, each with its stratum's weight (Hodges, Lehmann 1963), and the interval is the set of shifts that the test
//! does not reject. Of one stratum both are those of [`RankTests`] and [`LogRatios`].
//!
//! Assumption: a factor between the sides that is the same in all strata. Strata of one value a side only have its
//! sign: [`BlockRatios`] is stronger there.
//!
//! [`LogRatios`]: super::LogRatios
//! [`BlockRatios`]: super::BlockRatios

use super::beta::{normal_upper_tail, student_quantile};
use super::rank::{DoubledRanks, RankTests};
use super::shift::{LogRatios, Ratio};

/// The distribution is enumerated up to this number of values in all, and the normal approximation taken beyond.
const EXACT_UP_TO: usize = 120;
/// Weights are multiples of this part of the largest stratum's.
const WEIGHT_STEPS: f64 = 4.0;

/// The values of both sides, by stratum.
#[derive(Debug)]
pub struct StratifiedRatios {
    strata: Vec<Stratum>,
    /// Log ratios of two values of a stratum with its weight, ascending.
    sorted: Vec<(f64, usize)>,
}

#[derive(Debug)]
struct Stratum {
    a: Vec<f64>,
    b: Vec<f64>,
    weight: usize,
}

impl Stratum {
    fn values(&self) -> usize {
        self.a.len() + self.b.len()
    }
}

impl StratifiedRatios {
    /// Values of A and of B in each stratum; they must not be negative. Strata without values on a side do not count.
    /// `None` where none is left.
    pub fn of(strata: &[(Vec<f64>, Vec<f64>)]) -> Option<StratifiedRatios> {
        let both: Vec<&(Vec<f64>, Vec<f64>)> = strata.iter().filter(|(a, b)| !a.is_empty() && !b.is_empty()).collect();
        let most = both.iter().map(|(a, b)| a.len() + b.len()).max()?;
        let steps = |values: usize| (WEIGHT_STEPS * (most + 1) as f64 / (values + 1) as f64).round() as usize;
        let common = both.iter().map(|(a, b)| steps(a.len() + b.len())).fold(0, greatest_common_divisor);
        let stratum = |(a, b): &(Vec<f64>, Vec<f64>)| Stratum {
            a: a.clone(),
            b: b.clone(),
            weight: steps(a.len() + b.len()) / common.max(1),
        };
        let strata: Vec<Stratum> = both.into_iter().map(stratum).collect();
        let weighted = |stratum: &Stratum| {
            let logs = LogRatios::of(&stratum.a, &stratum.b).map(LogRatios::into_sorted).unwrap_or_default();
            logs.into_iter().map(|log| (log, stratum.weight)).collect::<Vec<_>>()
        };
        let mut sorted: Vec<(f64, usize)> = strata.iter().flat_map(weighted).collect();
        sorted.sort_by(|x, y| x.0.total_cmp(&y.0));
        Some(StratifiedRatios { strata, sorted })
    }

    /// Two-sided p: twice the smaller tail.
    pub fn p(&self) -> f64 {
        let ranked: Vec<(DoubledRanks, &Stratum)> =
            self.strata.iter().map(|stratum| (DoubledRanks::of(&stratum.a, &stratum.b), stratum)).collect();
        if !self.is_small() {
            return (2.0 * normal_tail(&ranked)).min(1.0);
        }
        let mut sums = vec![1.0];
        for (ranks, stratum) in &ranked {
            let ways = DoubledRanks::ways(&ranks.all, stratum.a.len());
            let all: f64 = ways.iter().sum();
            sums = convolved(&sums, ways.iter().map(|ways| ways / all), stratum.weight);
        }
        let found: usize = ranked.iter().map(|(ranks, stratum)| stratum.weight * ranks.sum).sum();
        let (below, above): (f64, f64) = (sums[..=found].iter().sum(), sums[found..].iter().sum());
        (2.0 * below.min(above)).min(1.0)
    }

    /// The ratio of B to A with an interval of at least this confidence.
    pub fn ratio(&self, confidence: f64, tests: &mut RankTests) -> Ratio {
        let bound = self.bound((1.0 - confidence) / 2.0 + 1e-12, tests);
        let interval = bound.map(|(least, _)| {
            let low = at_weight(self.sorted.iter(), least);
            (low.exp(), at_weight(self.sorted.iter().rev(), least).exp())
        });
        Ratio { ratio: self.median().exp(), interval, confidence: bound.map(|(_, reached)| reached) }
    }

    fn is_small(&self) -> bool {
        self.strata.iter().map(Stratum::values).sum::<usize>() <= EXACT_UP_TO
    }

    fn median(&self) -> f64 {
        let half = self.sorted.iter().map(|(_, weight)| weight).sum::<usize>().div_ceil(2);
        let (low, high) = (at_weight(self.sorted.iter(), half), at_weight(self.sorted.iter().rev(), half));
        if low == high { low } else { 0.5 * (low + high) }
    }

    /// The largest weight of log ratios on one side of the true one that the test rejects with this tail, plus one, and
    /// the confidence.
    fn bound(&self, tail: f64, tests: &mut RankTests) -> Option<(usize, f64)> {
        let Some(sums) = self.null(tests) else {
            return Some((self.normal_bound(tail), 1.0 - 2.0 * tail));
        };
        let (mut below, mut least) = (0.0, 0);
        while least < sums.len() && below + sums[least] <= tail {
            below += sums[least];
            least += 1;
        }
        (least > 0).then_some((least, 1.0 - 2.0 * below))
    }

    /// Chance of each weight of log ratios on one side of the true one, without ties; `None` where it is too large to
    /// enumerate.
    fn null(&self, tests: &mut RankTests) -> Option<Vec<f64>> {
        if !self.is_small() {
            return None;
        }
        self.strata.iter().try_fold(vec![1.0], |sums, stratum| {
            let null = tests.null(stratum.a.len(), stratum.b.len())?;
            Some(convolved(&sums, null.chances().into_iter(), stratum.weight))
        })
    }

    fn normal_bound(&self, tail: f64) -> usize {
        let of = |stratum: &Stratum| {
            let (m, n, weight) = (stratum.a.len() as f64, stratum.b.len() as f64, stratum.weight as f64);
            (weight * m * n / 2.0, weight * weight * m * n * (m + n + 1.0) / 12.0)
        };
        let (mean, variance) = self.strata.iter().map(of).fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let reach = student_quantile(1.0 - tail, f64::INFINITY) * variance.sqrt();
        (mean - reach).floor().max(1.0) as usize
    }
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Distribution of a sum to which `weight` times another number is added.
fn convolved(sums: &[f64], other: impl ExactSizeIterator<Item = f64>, weight: usize) -> Vec<f64> {
    let mut all = vec![0.0; sums.len() + weight * other.len().saturating_sub(1)];
    for (number, chance) in other.enumerate().filter(|(_, chance)| *chance > 0.0) {
        all[weight * number..].iter_mut().zip(sums).for_each(|(to, from)| *to += chance * from);
    }
    all
}

/// The log ratio at which the weights, summed in this order, reach `least`.
fn at_weight<'a>(sorted: impl Iterator<Item = &'a (f64, usize)>, least: usize) -> f64 {
    let mut reached = 0;
    let mut last = f64::NAN;
    for (log, weight) in sorted {
        last = *log;
        reached += weight;
        if reached >= least {
            break;
        }
    }
    last
}

/// The smaller tail by the normal approximation, with half a step of the smallest weight for continuity.
fn normal_tail(ranked: &[(DoubledRanks, &Stratum)]) -> f64 {
    let (mut sum, mut variance) = (0.0, 0.0);
    for (ranks, stratum) in ranked {
        let (off, of_stratum) = ranks.excess(stratum.a.len(), stratum.b.len());
        let weight = stratum.weight as f64;
        sum += weight * off;
        variance += weight * weight * of_stratum;
    }
    let half = 0.5 * ranked.iter().map(|(_, stratum)| stratum.weight).min().unwrap_or(0) as f64;
    if variance > 0.0 { normal_upper_tail((sum.abs() - half).max(0.0) / variance.sqrt()) } else { 0.5 }
}

#[cfg(test)]
mod tests;
