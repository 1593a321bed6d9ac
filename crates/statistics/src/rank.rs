//! The exact two-sided rank-sum test (Wilcoxon 1945, Mann and Whitney 1947), with ties.
//!
//! The test assumes only that, if the sides do not differ, every split of the values into sides of these sizes is
//! equally likely; it makes no assumption about their distribution. Ties share their mean rank, and the null
//! distribution is enumerated over the actual ranks, with ties.

use std::collections::HashMap;

use super::beta::normal_upper_tail;

/// Maximum number of values for the exact distribution. Beyond it, the normal approximation with corrections for ties
/// and continuity differs by less than 0.001.
const EXACT_UP_TO: usize = 60;

/// Cached null distributions without ties: many metrics share the sizes of their sides.
#[derive(Debug, Default)]
pub struct RankTests {
    nulls: HashMap<(usize, usize), Null>,
}

/// Distribution of Mann and Whitney's U without ties.
#[derive(Debug)]
pub(crate) struct Null {
    /// P(U <= u).
    cumulative: Vec<f64>,
}

impl Null {
    /// The number of arrangements with each U by Mann and Whitney's recursion:
    /// w(m, n, u) = w(m - 1, n, u - n) + w(m, n - 1, u).
    fn count(m: usize, n: usize) -> Null {
        // Columns are the sizes of one side. A column is zero beyond u = i * j.
        let mut counts: Vec<Vec<f64>> = vec![vec![1.0]; n + 1];
        for i in 1..=m {
            let mut row: Vec<Vec<f64>> = vec![vec![1.0]];
            for j in 1..=n {
                let mut ways = vec![0.0; i * j + 1];
                counts[j].iter().enumerate().for_each(|(u, count)| ways[u + j] += count);
                row[j - 1].iter().enumerate().for_each(|(u, count)| ways[u] += count);
                row.push(ways);
            }
            counts = row;
        }
        let ways = &counts[n];
        let all: f64 = ways.iter().sum();
        let mut sum = 0.0;
        let add = |count: &f64| {
            sum += count;
            sum / all
        };
        Null { cumulative: ways.iter().map(add).collect() }
    }

    /// The largest k with P(U < k) <= `tail`: the k-th smallest and the k-th largest of all pairwise differences bound
    /// the shift with a confidence of 1 - 2 P(U < k). `None` if even the extremes do not reach that confidence.
    pub(crate) fn bound(&self, tail: f64) -> Option<usize> {
        let k = self.cumulative.iter().take_while(|&&below| below <= tail).count();
        (k > 0).then_some(k)
    }

    /// P(U = u) of each u.
    pub(crate) fn chances(&self) -> Vec<f64> {
        let below = [0.0].into_iter().chain(self.cumulative.iter().copied());
        self.cumulative.iter().zip(below).map(|(upto, below)| upto - below).collect()
    }

    /// The confidence for k.
    pub(crate) fn confidence(&self, k: usize) -> f64 {
        1.0 - 2.0 * self.cumulative[k - 1]
    }
}

impl RankTests {
    /// The null distribution for sides of these sizes without ties; `None` where it is too large to enumerate.
    pub(crate) fn null(&mut self, m: usize, n: usize) -> Option<&Null> {
        let fits = m > 0 && n > 0 && m + n <= EXACT_UP_TO;
        fits.then(|| &*self.nulls.entry((m, n)).or_insert_with(|| Null::count(m, n)))
    }

    /// Two-sided p: twice the smaller tail. `None` where a side is empty.
    pub fn p(&mut self, a: &[f64], b: &[f64]) -> Option<f64> {
        if a.is_empty() || b.is_empty() {
            return None;
        }
        let ranks = DoubledRanks::of(a, b);
        let tail = if a.len() + b.len() > EXACT_UP_TO {
            ranks.normal_tail(a.len(), b.len())
        } else if ranks.ties.is_empty() {
            let smallest = a.len() * (a.len() + 1);
            let u = (ranks.sum - smallest) / 2;
            let u = u.min(a.len() * b.len() - u);
            self.null(a.len(), b.len())?.cumulative[u]
        } else {
            ranks.exact_tail(a.len())
        };
        Some((2.0 * tail).min(1.0))
    }
}

/// Ranks times two, which makes the mean ranks of ties integers.
pub(crate) struct DoubledRanks {
    pub(crate) all: Vec<usize>,
    /// Sum of the ranks of side A.
    pub(crate) sum: usize,
    /// Sizes of groups of equal values, if larger than 1.
    ties: Vec<usize>,
}

impl DoubledRanks {
    pub(crate) fn of(a: &[f64], b: &[f64]) -> DoubledRanks {
        let mut values: Vec<(f64, bool)> =
            a.iter().map(|&value| (value, true)).chain(b.iter().map(|&value| (value, false))).collect();
        values.sort_by(|x, y| x.0.total_cmp(&y.0));
        let mut ranks = DoubledRanks { all: Vec::with_capacity(values.len()), sum: 0, ties: Vec::new() };
        for group in values.chunk_by(|x, y| x.0 == y.0) {
            let before = ranks.all.len();
            // Ranks before + 1 to before + n have this mean, doubled.
            let rank = 2 * before + group.len() + 1;
            ranks.all.extend(group.iter().map(|_| rank));
            ranks.sum += rank * group.iter().filter(|(_, of_a)| *of_a).count();
            if group.len() > 1 {
                ranks.ties.push(group.len());
            }
        }
        ranks
    }

    /// The number of subsets of `m` ranks with each sum.
    pub(crate) fn ways(ranks: &[usize], m: usize) -> Vec<f64> {
        let largest: usize = ranks.iter().rev().take(m).sum();
        let mut ways = vec![vec![0.0_f64; largest + 1]; m + 1];
        ways[0][0] = 1.0;
        for (drawn, &rank) in ranks.iter().enumerate() {
            for size in (1..=m.min(drawn + 1)).rev() {
                let (smaller, larger) = ways.split_at_mut(size);
                let from = &smaller[size - 1];
                larger[0][rank..].iter_mut().zip(from).for_each(|(to, count)| *to += count);
            }
        }
        ways.swap_remove(m)
    }

    /// The smaller tail of the sum of `m` ranks drawn from all of them.
    fn exact_tail(&self, m: usize) -> f64 {
        let ways = DoubledRanks::ways(&self.all, m);
        let all: f64 = ways.iter().sum();
        let below: f64 = ways[..=self.sum].iter().sum();
        let above: f64 = ways[self.sum..].iter().sum();
        below.min(above) / all
    }

    /// How far the sum of the ranks of side A is from its mean, and its variance, reduced for ties.
    pub(crate) fn excess(&self, m: usize, n: usize) -> (f64, f64) {
        let (m, n) = (m as f64, n as f64);
        let all = m + n;
        let ties: f64 = self.ties.iter().map(|&size| (size as f64).powi(3) - size as f64).sum();
        (self.sum as f64 / 2.0 - m * (all + 1.0) / 2.0, m * n / 12.0 * (all + 1.0 - ties / (all * (all - 1.0))))
    }

    /// The tail by the normal approximation, with half a step for continuity.
    fn normal_tail(&self, m: usize, n: usize) -> f64 {
        let (off, variance) = self.excess(m, n);
        if variance > 0.0 { normal_upper_tail((off.abs() - 0.5).max(0.0) / variance.sqrt()) } else { 0.5 }
    }
}

#[cfg(test)]
mod tests {
    use super::RankTests;

    fn check(a: &[f64], b: &[f64], expected: f64, within: f64) {
        let mut tests = RankTests::default();
        let p = tests.p(a, b).unwrap();
        assert!((p - expected).abs() <= within, "{p} is not {expected}");
        assert_eq!(tests.p(b, a), Some(p), "the test is symmetric");
    }

    /// `scipy.stats.mannwhitneyu(a, b, method="exact")` of SciPy 1.17.1.
    #[test]
    fn exact_p_without_ties_is_that_of_scipy() {
        check(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], 0.1, 1e-12);
        check(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0], 0.02857142857142857, 1e-12);
        check(&[1.1, 2.2, 3.3, 4.4, 5.5], &[2.7, 4.1, 6.9, 7.3, 8.8], 0.15079365079365079, 1e-12);
        check(&[3.1, 0.2, 5.9, 4.4, 2.2, 7.5], &[1.0, 9.9, 6.1, 8.2], 0.2571428571428571, 1e-12);
        let a = [8.77, 8.91, 9.11, 8.5, 9.4, 8.2, 9.9, 8.6, 9.0, 8.8];
        let b = [11.16, 10.2, 9.3, 10.8, 11.9, 9.7, 12.1, 10.5, 9.95, 11.3];
        check(&a, &b, 7.577561757128321e-05, 1e-15);
    }

    /// `scipy.stats.permutation_test` of the sum of ranks over all splits, SciPy 1.17.1.
    #[test]
    fn exact_p_with_ties_is_that_of_all_permutations() {
        check(&[1.0, 1.0, 2.0, 3.0, 3.0], &[2.0, 3.0, 3.0, 4.0, 5.0], 0.1349206349206349, 1e-12);
        check(&[0.0, 0.0, 0.0, 1.0, 2.0, 0.0], &[3.0, 0.0, 5.0, 2.0, 8.0, 4.0], 0.032467532467532464, 1e-12);
        let a = [14.0, 12.0, 14.0, 15.0, 11.0, 14.0, 13.0, 20.0, 14.0, 9.0];
        let b = [3.0, 4.0, 14.0, 2.0, 3.0, 5.0, 3.0, 1.0, 4.0, 9.0];
        check(&a, &b, 0.00035722791140747797, 1e-15);
        check(&[2.0; 7], &[2.0; 5], 1.0, 1e-12);
    }

    /// `scipy.stats.mannwhitneyu(a, b, method="asymptotic")`, SciPy 1.17.1.
    #[test]
    fn many_runs_are_approximated_as_scipy_does() {
        #[rustfmt::skip]
        let a = [
            2.0, -2.6, 0.4, -0.6, -0.5, -0.2, -2.0, -0.2, -0.9, 3.3, 0.2, -0.4, -0.3, -0.7, -1.1, -0.4, 0.5, -0.2, 1.0,
            -0.2, 0.0, 1.5, 0.5, -0.5, -0.2, 0.5, 1.9, -0.3, -0.2, 1.0, -0.9, -0.3, 0.9, 0.6, 0.1, 0.7, -2.8, 1.0, -1.0,
            -1.7,
        ];
        #[rustfmt::skip]
        let b = [
            0.8, 1.2, 0.1, -0.6, 0.5, 0.4, 1.9, 1.2, 0.7, 1.6, 0.3, -0.4, 1.1, 1.1, 0.3, -0.3, 0.7, -2.0, 1.2, 1.0,
                -1.1,
            0.6, -0.5, 1.3, -1.5, -0.4, 1.2, 1.7, -1.7, 0.0, 0.8, -0.1, 2.1, -0.7, 0.9,
        ];
        check(&a, &b, 0.04400787270252349, 1e-5);
    }

    #[test]
    fn the_smallest_p_for_a_number_of_runs() {
        for (runs, expected) in [(3, 0.1), (4, 0.02857142857142857), (5, 0.007936507936507936)] {
            let a: Vec<f64> = (0..runs).map(f64::from).collect();
            let b: Vec<f64> = (0..runs).map(|n| f64::from(n + 100)).collect();
            check(&a, &b, expected, 1e-12);
        }
    }

    /// The critical values of Mann and Whitney's tables for a two-sided 5 %: 2 for 5 and 5, 23 for 10 and 10.
    #[test]
    fn the_bounds_are_those_of_the_tables() {
        let mut tests = RankTests::default();
        let mut bound = |m, n| tests.null(m, n).unwrap().bound(0.025);
        assert_eq!([bound(3, 3), bound(5, 5), bound(10, 10), bound(20, 20)], [None, Some(3), Some(24), Some(128)]);
        assert!((tests.null(5, 5).unwrap().confidence(3) - 0.9682539682539683).abs() < 1e-12);
    }
}
