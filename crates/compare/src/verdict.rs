//! Verdicts on metrics.

use super::figures::Better;
use statistics::Ratio;

/// Minimum number of runs per side for a verdict. With 4, the smallest possible p is 0.029, which no correction for
/// multiple tests survives.
pub const FEWEST_RUNS: usize = 5;
/// False discovery rate.
pub const SIGNIFICANCE: f64 = 0.05;
/// Confidence of the intervals.
pub const CONFIDENCE: f64 = 0.95;
/// Two one-sided tests at 5 % (Schuirmann 1987) are an interval of 90 %.
pub const EQUIVALENCE_CONFIDENCE: f64 = 1.0 - 2.0 * SIGNIFICANCE;

/// The verdict on a metric of B compared with A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// B is worse.
    Worse,
    /// B is better.
    Better,
    /// B is different, and neither direction is better.
    Different,
    /// The side that looks better has a wait that had not ended: what it would have taken is unknown.
    Unfinished,
    /// Values of some runs are larger than their tool can count, so that no test of the others holds for all.
    Censored,
    /// There are too few runs.
    NotEnoughData,
    /// B is the same within the margin.
    Equivalent,
}

impl Verdict {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Worse => "worse",
            Verdict::Better => "better",
            Verdict::Different => "different",
            Verdict::Unfinished => "unfinished",
            Verdict::Censored => "censored",
            Verdict::NotEnoughData => "not_enough_data",
            Verdict::Equivalent => "equivalent",
        }
    }

    /// Whether a difference was found.
    pub const fn is_decided(self) -> bool {
        matches!(self, Verdict::Worse | Verdict::Better | Verdict::Different)
    }
}

/// The basis of a verdict.
#[derive(Debug, Clone, Copy)]
pub struct Findings {
    /// Which direction is better.
    pub better: Better,
    /// Observations of the smaller side: runs, or blocks of a trial.
    pub runs: usize,
    /// Minimum number of them for a verdict.
    pub fewest: usize,
    /// With the interval of [`CONFIDENCE`].
    pub ratio: Ratio,
    /// Interval of [`EQUIVALENCE_CONFIDENCE`].
    pub narrow: Option<(f64, f64)>,
    /// Logarithm of the ratio, for planning; infinite where a side is zero.
    pub log_ratio: f64,
    /// Variance of the logarithm between runs; `None` if unknown.
    pub variance: Option<f64>,
    /// A difference up to this share does not matter: 0.05.
    pub margin: f64,
}

impl Findings {
    /// The verdict, with q as corrected for the number of metrics. Equivalence comes first: a significant difference
    /// within the margin is equivalence. A difference requires both the corrected test and the interval.
    pub fn verdict(&self, q: f64) -> Verdict {
        if self.runs < self.fewest {
            return Verdict::NotEnoughData;
        }
        let (smallest, largest) = (1.0 / (1.0 + self.margin), 1.0 + self.margin);
        if self.narrow.is_some_and(|(low, high)| low >= smallest && high <= largest) {
            return Verdict::Equivalent;
        }
        let Some((low, high)) =
            self.ratio.interval.filter(|(low, high)| q <= SIGNIFICANCE && (*low > 1.0 || *high < 1.0))
        else {
            return Verdict::NotEnoughData;
        };
        debug_assert!(low <= high);
        match self.better {
            Better::Neither => Verdict::Different,
            Better::Higher if low > 1.0 => Verdict::Better,
            Better::Lower if high < 1.0 => Verdict::Better,
            _ => Verdict::Worse,
        }
    }

    /// Additional runs per side to find a difference of the observed size, or of the margin if that is larger, with a
    /// power of 80 %; `None` where the spread is unknown. The formula for two normal samples (Noether 1987 for ranks;
    /// the rank test needs pi / 3 times as many).
    pub fn need_runs(&self) -> Option<u64> {
        const Z_TWO_SIDED: f64 = 1.959_964;
        const Z_POWER: f64 = 0.841_621;
        let fewest = self.fewest.saturating_sub(self.runs) as u64;
        let Some(variance) = self.variance.filter(|variance| variance.is_finite()) else {
            return (fewest > 0).then_some(fewest);
        };
        let effect = self.log_ratio.abs().max(self.margin.ln_1p());
        let runs = 2.0 * variance * (Z_TWO_SIDED + Z_POWER).powi(2) * std::f64::consts::FRAC_PI_3 / (effect * effect);
        let missing = runs.ceil() - self.runs as f64;
        Some((missing.clamp(1.0, 1e6) as u64).max(fewest))
    }
}

#[cfg(test)]
mod tests {
    use super::{Findings, Verdict};
    use crate::figures::Better;
    use statistics::Ratio;

    fn findings(better: Better, interval: (f64, f64), narrow: (f64, f64)) -> Findings {
        let ratio = Ratio { ratio: (interval.0 * interval.1).sqrt(), interval: Some(interval), confidence: Some(0.95) };
        let log_ratio = ratio.ratio.ln();
        Findings {
            better,
            runs: 10,
            fewest: 5,
            ratio,
            narrow: Some(narrow),
            log_ratio,
            variance: Some(0.0025),
            margin: 0.05,
        }
    }

    #[test]
    fn verdicts() {
        let check = |better, interval, narrow, q, expected| {
            assert_eq!(findings(better, interval, narrow).verdict(q), expected, "{interval:?} {q}");
        };
        check(Better::Lower, (1.1, 1.3), (1.12, 1.28), 0.01, Verdict::Worse);
        check(Better::Lower, (0.7, 0.9), (0.72, 0.88), 0.01, Verdict::Better);
        check(Better::Higher, (1.1, 1.3), (1.12, 1.28), 0.01, Verdict::Better);
        check(Better::Neither, (1.1, 1.3), (1.12, 1.28), 0.01, Verdict::Different);
        check(Better::Lower, (1.1, 1.3), (1.12, 1.28), 0.06, Verdict::NotEnoughData);
        check(Better::Lower, (0.9, 1.3), (0.94, 1.28), 0.5, Verdict::NotEnoughData);
        check(Better::Lower, (0.97, 1.03), (0.98, 1.02), 0.5, Verdict::Equivalent);
        check(Better::Lower, (1.01, 1.03), (1.01, 1.02), 0.001, Verdict::Equivalent);
    }

    #[test]
    fn four_runs_get_no_verdict() {
        let four = Findings { runs: 4, ..findings(Better::Lower, (1.1, 1.3), (1.1, 1.3)) };
        assert_eq!(four.verdict(0.001), Verdict::NotEnoughData);
        assert_eq!(four.need_runs(), Some(1));
    }

    /// Noise of 5 % and an effect of 5 %: 2 * 7.849 * 1.0472 * (0.05 / ln 1.05)^2 = 17.26 runs a side.
    #[test]
    fn the_number_of_additional_runs() {
        let none = findings(Better::Lower, (0.9, 1.1), (0.9, 1.1));
        assert_eq!(none.need_runs(), Some(8));
        let unknown = Findings { variance: None, ..none };
        assert_eq!(unknown.need_runs(), None);
    }
}
