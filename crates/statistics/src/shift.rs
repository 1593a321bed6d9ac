//! The size of a difference: Hodges and Lehmann's shift of the logarithms, and its interval.
//!
//! The estimate is the median of all log ratios of a run of B to a run of A (Hodges, Lehmann 1963). The interval is the
//! set of shifts that the exact rank test does not reject (Moses 1953): it excludes 1 exactly when p is small enough.
//! Assumption: the logarithms of B are distributed as those of A except for a shift, that is, the difference is a
//! factor.

use super::beta::student_quantile;
use super::rank::RankTests;

/// A ratio of B to A with its confidence interval. Infinite where A may be zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Estimate.
    pub ratio: f64,
    /// The interval; `None` with too few runs.
    pub interval: Option<(f64, f64)>,
    /// The actual confidence of the interval, at least the requested confidence.
    pub confidence: Option<f64>,
}

/// All log ratios of a value of B to a value of A, ascending. The ratio of two zeros is 1.
#[derive(Debug)]
pub struct LogRatios {
    sorted: Vec<f64>,
    sides: (usize, usize),
}

impl LogRatios {
    /// Values must not be negative. `None` where a side is empty.
    pub fn of(a: &[f64], b: &[f64]) -> Option<LogRatios> {
        if a.is_empty() || b.is_empty() {
            return None;
        }
        let a_logs: Vec<f64> = a.iter().map(|value| value.ln()).collect();
        let mut sorted: Vec<f64> = Vec::with_capacity(a.len() * b.len());
        for log in b.iter().map(|value| value.ln()) {
            sorted.extend(a_logs.iter().map(|a| if log == *a { 0.0 } else { log - a }));
        }
        sorted.sort_by(f64::total_cmp);
        Some(LogRatios { sorted, sides: (a.len(), b.len()) })
    }

    /// The log ratios, ascending.
    pub(crate) fn into_sorted(self) -> Vec<f64> {
        self.sorted
    }

    /// The median.
    fn estimate(&self) -> f64 {
        let (low, high) = (self.sorted[(self.sorted.len() - 1) / 2], self.sorted[self.sorted.len() / 2]);
        if low == high { low } else { 0.5 * (low + high) }
    }

    /// The ratio with an interval of at least this confidence.
    pub fn ratio(&self, confidence: f64, tests: &mut RankTests) -> Ratio {
        let found = self.rank(confidence, tests);
        let ends = found.map(|(k, _)| (self.sorted[k - 1].exp(), self.sorted[self.sorted.len() - k].exp()));
        Ratio { ratio: self.estimate().exp(), interval: ends, confidence: found.map(|(_, reached)| reached) }
    }

    /// The rank of the log ratios that bound the shift, and the confidence.
    fn rank(&self, confidence: f64, tests: &mut RankTests) -> Option<(usize, f64)> {
        let (m, n) = self.sides;
        let tail = (1.0 - confidence) / 2.0 + 1e-12;
        if let Some(null) = tests.null(m, n) {
            return null.bound(tail).map(|k| (k, null.confidence(k)));
        }
        let (m, n) = (m as f64, n as f64);
        let spread = (m * n * (m + n + 1.0) / 12.0).sqrt();
        let k = (m * n / 2.0 - student_quantile(1.0 - tail, f64::INFINITY) * spread).floor().max(1.0);
        Some((k as usize, confidence))
    }
}

#[cfg(test)]
mod tests {
    use super::LogRatios;
    use crate::rank::RankTests;

    /// `wilcox.test(log(b), log(a), conf.int = TRUE)` takes the same differences: with 5 and 5 values the third
    /// smallest and the third largest of 25. Here by hand, on powers of two.
    #[test]
    fn the_interval_for_five_and_five_is_bounded_by_the_third_differences() {
        let a = [1.0, 2.0, 4.0, 8.0, 16.0];
        let b = [2.0, 4.0, 8.0, 16.0, 32.0];
        let ratio = LogRatios::of(&a, &b).unwrap().ratio(0.95, &mut RankTests::default());
        assert!((ratio.ratio - 2.0).abs() < 1e-12);
        // Differences in powers of two: -3, -2, -2, -1, ... and 5, 4, 4, 3, ...
        let (low, high) = ratio.interval.unwrap();
        assert!((low - 0.25).abs() < 1e-12 && (high - 16.0).abs() < 1e-12, "{low} {high}");
        assert!((ratio.confidence.unwrap() - 0.968254).abs() < 1e-6);
    }

    #[test]
    fn zeros_need_no_offset() {
        let mut tests = RankTests::default();
        let gone = LogRatios::of(&[3.0, 4.0, 5.0, 6.0, 2.0], &[0.0; 5]).unwrap().ratio(0.95, &mut tests);
        assert_eq!((gone.ratio, gone.interval), (0.0, Some((0.0, 0.0))));
        let never = LogRatios::of(&[0.0; 5], &[0.0; 5]).unwrap().ratio(0.95, &mut tests);
        assert_eq!((never.ratio, never.interval), (1.0, Some((1.0, 1.0))));
    }

    #[test]
    fn three_runs_have_no_interval() {
        let ratio = LogRatios::of(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).unwrap().ratio(0.95, &mut RankTests::default());
        assert_eq!(ratio.interval, None);
    }
}
