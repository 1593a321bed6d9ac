//! Steady state: the rate of a run that still warms up, or fills its disk, depends on its length.
//!
//! Mann and Kendall's test for a trend (Mann 1945; Kendall 1975) over the intervals' rates, with the variance enlarged
//! for the correlation of neighbours (Yue and Wang 2004, for a first-order autoregression; its coefficient from the
//! residuals after Theil and Sen's slope, corrected for its bias after Marriott and Pope 1954). Only large changes
//! count. Assumption: the residuals are correlated only with their neighbours, and not periodic.

use super::beta::normal_upper_tail;

/// Minimum number of intervals for a verdict.
const FEWEST_INTERVALS: usize = 10;
/// Beyond this number, intervals are averaged: this bounds the work and reduces the correlation of neighbours.
const MOST_INTERVALS: usize = 120;
/// False positive rate.
const SIGNIFICANCE: f64 = 0.01;
/// Smaller changes from start to end do not matter.
const LARGE: f64 = 0.10;

/// Whether a run was in a steady state.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Steadiness {
    /// There are no intervals.
    #[default]
    Unknown,
    /// Too few intervals.
    TooShort {
        /// Number of intervals.
        intervals: usize,
    },
    /// No large significant change.
    Steady,
    /// A large significant trend.
    Trend {
        /// Relative change from start to end by the slope: -0.3 is a loss of 30 %.
        change: f64,
        /// p of the test.
        p: f64,
    },
}

/// Tests the rates of a run's intervals, which are of equal length.
pub fn steadiness(rates: &[f64]) -> Steadiness {
    if rates.is_empty() {
        return Steadiness::Unknown;
    }
    if rates.len() < FEWEST_INTERVALS {
        return Steadiness::TooShort { intervals: rates.len() };
    }
    let each = rates.len().div_ceil(MOST_INTERVALS);
    let values: Vec<f64> =
        rates.chunks_exact(each).map(|chunk| chunk.iter().sum::<f64>() / chunk.len() as f64).collect();
    let slope = median(pairs(&values, |early, late, apart| (late - early) / apart));
    let middle = median(values.clone());
    let change = slope * (values.len() - 1) as f64 / middle;
    let p = trend_p(&values, slope);
    if middle > 0.0 && change.abs() > LARGE && p < SIGNIFICANCE {
        Steadiness::Trend { change, p }
    } else {
        Steadiness::Steady
    }
}

/// A figure for each pair of values and their distance.
fn pairs(values: &[f64], figure: impl Fn(f64, f64, f64) -> f64) -> Vec<f64> {
    let mut figures = Vec::with_capacity(values.len() * (values.len() - 1) / 2);
    for (at, early) in values.iter().enumerate() {
        figures.extend(values[at + 1..].iter().enumerate().map(|(n, late)| figure(*early, *late, (n + 1) as f64)));
    }
    figures
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    0.5 * (values[(values.len() - 1) / 2] + values[values.len() / 2])
}

fn trend_p(values: &[f64], slope: f64) -> f64 {
    let n = values.len() as f64;
    let sign = |early: f64, late: f64, _: f64| if late == early { 0.0 } else { (late - early).signum() };
    let concordance: f64 = pairs(values, sign).iter().sum();
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let tied = |group: &[f64]| {
        let size = group.len() as f64;
        size * (size - 1.0) * (2.0 * size + 5.0)
    };
    let ties: f64 = sorted.chunk_by(|x, y| x == y).filter(|group| group.len() > 1).map(tied).sum();
    let independent = (n * (n - 1.0) * (2.0 * n + 5.0) - ties) / 18.0;
    let left: Vec<f64> = values.iter().enumerate().map(|(at, value)| value - slope * at as f64).collect();
    let variance = independent * inflation(&left);
    if variance <= 0.0 {
        return 1.0;
    }
    2.0 * normal_upper_tail((concordance.abs() - 1.0).max(0.0) / variance.sqrt())
}

/// The factor by which the correlation of neighbours enlarges the variance.
fn inflation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if squares <= 0.0 {
        return 1.0;
    }
    let neighbours: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    let correlation = ((neighbours / squares + 1.0 / n) / (1.0 - 4.0 / n)).clamp(0.0, 0.95);
    (1.0 + correlation) / (1.0 - correlation)
}

#[cfg(test)]
mod tests {
    use simulate::random::Random;

    use super::{Steadiness, steadiness};

    /// A standard normal number (Box, Muller 1958).
    fn normal(random: &mut Random) -> f64 {
        let uniform = |random: &mut Random| ((random.number() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        (-2.0 * uniform(random).ln()).sqrt() * (std::f64::consts::TAU * uniform(random)).cos()
    }

    /// Rates with a relative change from start to end, noise, and correlation of the noise of neighbours.
    fn intervals(random: &mut Random, count: usize, change: f64, noise: f64, correlation: f64) -> Vec<f64> {
        let mut last = normal(random);
        let value = |at: usize| {
            last = correlation * last + (1.0 - correlation * correlation).sqrt() * normal(random);
            100.0 * (1.0 + change * at as f64 / count as f64) * (1.0 + noise * last)
        };
        (0..count).map(value).collect()
    }

    fn unsteady_of_500(count: usize, change: f64, noise: f64, correlation: f64) -> usize {
        let mut random = Random::new(5);
        let is_trend = |_: &usize| {
            matches!(steadiness(&intervals(&mut random, count, change, noise, correlation)), Steadiness::Trend { .. })
        };
        (0..500).filter(is_trend).count()
    }

    #[test]
    fn steady_runs_are_rarely_called_unsteady_also_with_correlated_neighbours() {
        for (count, correlation) in [(20, 0.0), (60, 0.0), (60, 0.5), (60, 0.8)] {
            let found = unsteady_of_500(count, 0.0, 0.2, correlation);
            assert!(found <= 25, "{found} of 500 with {count} intervals and correlation {correlation}");
        }
    }

    #[test]
    fn a_run_that_slows_down_is_found() {
        assert!(unsteady_of_500(30, -0.3, 0.05, 0.3) > 480);
        assert!(unsteady_of_500(60, 0.5, 0.1, 0.3) > 480);
    }

    #[test]
    fn few_or_no_intervals_give_no_verdict() {
        assert_eq!(steadiness(&[]), Steadiness::Unknown);
        assert_eq!(steadiness(&[1.0; 9]), Steadiness::TooShort { intervals: 9 });
        assert_eq!(steadiness(&[1.0; 10]), Steadiness::Steady);
        assert_eq!(steadiness(&[0.0; 10]), Steadiness::Steady);
    }

    #[test]
    fn a_small_significant_change_does_not_matter() {
        let rates: Vec<f64> = (0..100).map(|at| 100.0 + 0.05 * f64::from(at)).collect();
        assert_eq!(steadiness(&rates), Steadiness::Steady);
    }
}
