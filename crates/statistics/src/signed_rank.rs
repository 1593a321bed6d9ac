//! Wilcoxon's signed-rank test (1945): differences between two sides, one for each block.
//!
//! The test assumes only that, if the sides do not differ, each block's difference has the other sign as easily. This
//! holds by design where a random choice decides which side comes first in a block: swapping the sides then changes the
//! sign and nothing else, whatever the distribution and however neighbours in time depend on each other. Ties share
//! their mean rank, and the distribution is enumerated with these ranks. Differences of zero are left out of the test,
//! as Wilcoxon did.
//!
//! The estimate is the median of the means of all pairs of differences (Hodges, Lehmann 1963), and the interval is the
//! set of shifts that the exact test does not reject. Assumption: B differs from A by the same factor in all blocks.

use super::beta::{normal_upper_tail, student_quantile};
use super::shift::Ratio;

/// Maximum number of blocks for the exact distribution; beyond it, the normal approximation.
const EXACT_UP_TO: usize = 100;

/// Differences of logarithms, B minus A, one for each block. Infinite where one side is zero.
#[derive(Debug, Clone)]
pub struct BlockRatios {
    logs: Vec<f64>,
}

impl BlockRatios {
    /// `None` without blocks.
    pub fn of(logs: Vec<f64>) -> Option<BlockRatios> {
        (!logs.is_empty() && !logs.iter().any(|log| log.is_nan())).then_some(BlockRatios { logs })
    }

    /// How many blocks.
    pub fn blocks(&self) -> usize {
        self.logs.len()
    }

    /// Two-sided p: twice the smaller tail.
    pub fn p(&self) -> f64 {
        let signed = doubled_ranks(&self.logs);
        let sum: usize = signed.iter().filter(|(_, positive)| *positive).map(|(rank, _)| rank).sum();
        let ranks: Vec<usize> = signed.iter().map(|(rank, _)| *rank).collect();
        if ranks.is_empty() {
            return 1.0;
        }
        let tail = if ranks.len() > EXACT_UP_TO {
            normal_tail(&ranks, sum)
        } else {
            let chances = chances(&ranks);
            let below: f64 = chances[..=sum].iter().sum();
            let above: f64 = chances[sum..].iter().sum();
            below.min(above)
        };
        (2.0 * tail).min(1.0)
    }

    /// The ratio with an interval of at least this confidence.
    pub fn ratio(&self, confidence: f64) -> Ratio {
        let mut means = Vec::with_capacity(self.logs.len() * (self.logs.len() + 1) / 2);
        for (at, log) in self.logs.iter().enumerate() {
            // One block from nothing and one to nothing cancel out.
            means.extend(
                self.logs[at..].iter().map(|other| 0.5 * (log + other)).map(|m| if m.is_nan() { 0.0 } else { m }),
            );
        }
        means.sort_by(f64::total_cmp);
        let (low, high) = (means[(means.len() - 1) / 2], means[means.len() / 2]);
        let middle = if low == high { low } else { 0.5 * (low + high) };
        let found = bound(self.logs.len(), (1.0 - confidence) / 2.0 + 1e-12);
        let ends = found.map(|(k, _)| (means[k - 1].exp(), means[means.len() - k].exp()));
        Ratio { ratio: middle.exp(), interval: ends, confidence: found.map(|(_, reached)| reached) }
    }

    /// Variance of the differences between blocks; `None` with fewer than two, or where one is infinite.
    pub fn variance(&self) -> Option<f64> {
        let blocks = self.logs.len() as f64;
        let mean = self.logs.iter().sum::<f64>() / blocks;
        let squares: f64 = self.logs.iter().map(|log| (log - mean).powi(2)).sum();
        Some(squares / (blocks - 1.0)).filter(|variance| variance.is_finite())
    }
}

/// Ranks of the absolute differences times two, which makes the mean ranks of ties integers, and whether each is
/// positive.
fn doubled_ranks(logs: &[f64]) -> Vec<(usize, bool)> {
    let mut sorted: Vec<f64> = logs.iter().copied().filter(|log| *log != 0.0).collect();
    sorted.sort_by(|x, y| x.abs().total_cmp(&y.abs()));
    let mut ranks = Vec::with_capacity(sorted.len());
    for group in sorted.chunk_by(|x, y| x.abs() == y.abs()) {
        let rank = 2 * ranks.len() + group.len() + 1;
        ranks.extend(group.iter().map(|log| (rank, *log > 0.0)));
    }
    ranks
}

/// Probability of each sum of the positive ranks.
fn chances(ranks: &[usize]) -> Vec<f64> {
    let mut chances = vec![0.0; ranks.iter().sum::<usize>() + 1];
    chances[0] = 1.0;
    let mut largest = 0;
    for &rank in ranks {
        largest += rank;
        for sum in (0..=largest).rev() {
            let with = if sum >= rank { chances[sum - rank] } else { 0.0 };
            chances[sum] = 0.5 * (chances[sum] + with);
        }
    }
    chances
}

fn normal_tail(doubled: &[usize], sum: usize) -> f64 {
    let squares: f64 = doubled.iter().map(|&rank| (rank as f64 / 2.0).powi(2)).sum();
    let mean = doubled.iter().sum::<usize>() as f64 / 4.0;
    let off = (sum as f64 / 2.0 - mean).abs();
    normal_upper_tail((off - 0.5).max(0.0) / (squares / 4.0).sqrt())
}

/// The rank of the means that bound the shift, and the confidence. `None` if even the extremes do not reach it.
fn bound(blocks: usize, tail: f64) -> Option<(usize, f64)> {
    if blocks > EXACT_UP_TO {
        let n = blocks as f64;
        let spread = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
        let k = (n * (n + 1.0) / 4.0 - student_quantile(1.0 - tail, f64::INFINITY) * spread).floor().max(1.0);
        return Some((k as usize, 1.0 - 2.0 * tail));
    }
    let ranks: Vec<usize> = (1..=blocks).collect();
    let (mut below, mut k) = (0.0, 0);
    for chance in chances(&ranks) {
        if below + chance > tail {
            break;
        }
        below += chance;
        k += 1;
    }
    (k > 0).then_some((k, 1.0 - 2.0 * below))
}

#[cfg(test)]
mod tests {
    use super::{BlockRatios, bound};

    fn blocks(logs: &[f64]) -> BlockRatios {
        BlockRatios::of(logs.to_vec()).unwrap()
    }

    /// The tables of Wilcoxon: the two-sided critical values at 5 % are 0 for 6 blocks, 8 for 10, 52 for 20.
    #[test]
    fn bounds_are_those_of_the_tables() {
        let rank = |blocks| bound(blocks, 0.025).map(|(k, _)| k);
        assert_eq!([rank(5), rank(6), rank(10), rank(20)], [None, Some(1), Some(9), Some(53)]);
        assert!((bound(10, 0.025).unwrap().1 - 0.951_171_875).abs() < 1e-12);
    }

    /// By hand: of the 2^6 signs, only one gives a sum of 21 and one a sum of 0.
    #[test]
    fn the_smallest_p_of_six_blocks() {
        assert_eq!(blocks(&[0.3, 0.1, 0.2, 0.5, 0.4, 0.6]).p(), 2.0 / 64.0);
        assert_eq!(blocks(&[-0.3, -0.1, -0.2, -0.5, -0.4, -0.6]).p(), 2.0 / 64.0);
        // Sums of up to 1 and of 20 or more: two signs each.
        assert_eq!(blocks(&[0.3, -0.1, 0.2, 0.5, 0.4, 0.6]).p(), 4.0 / 64.0);
    }

    #[test]
    fn ties_share_their_rank_and_zeros_are_left_out() {
        // Three equal differences: all signs equal in 2 of 8 cases.
        assert_eq!(blocks(&[0.5, 0.5, 0.0, 0.5]).p(), 2.0 / 8.0);
        assert_eq!(blocks(&[0.0, 0.0]).p(), 1.0);
    }

    #[test]
    fn exact_and_approximate_p_agree() {
        let of = |count: i32| {
            let logs = (0..count).map(|n| f64::from((n * 37) % 101 - 42) + 0.001 * f64::from(n));
            BlockRatios::of(logs.collect()).unwrap().p()
        };
        assert!((of(100) - of(101)).abs() < 0.02, "{} {}", of(100), of(101));
    }

    #[test]
    fn the_interval_of_six_blocks_has_the_extremes() {
        let ratio = blocks(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]).ratio(0.95);
        assert_eq!(ratio.ratio, 2.5_f64.exp());
        assert_eq!(ratio.interval.unwrap(), (1.0, 5.0_f64.exp()));
        assert!((ratio.confidence.unwrap() - 0.96875).abs() < 1e-12);
        assert_eq!(blocks(&[1.0; 5]).ratio(0.95).interval, None);
    }

    #[test]
    fn what_is_gone_in_all_blocks_is_a_ratio_of_zero() {
        let gone = blocks(&[f64::NEG_INFINITY; 6]);
        assert_eq!((gone.p(), gone.ratio(0.95).ratio), (2.0 / 64.0, 0.0));
        assert_eq!(gone.ratio(0.95).interval, Some((0.0, 0.0)));
        assert_eq!(gone.variance(), None);
        assert!(BlockRatios::of(vec![f64::NAN]).is_none());
    }
}
