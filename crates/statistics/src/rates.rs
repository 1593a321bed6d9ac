//! The distribution of a rate over the intervals of a run.

/// Distribution of a rate over intervals, and its mean over the whole time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateSummary {
    /// Latest interval's rate.
    pub last_per_s: f64,
    /// Total over the whole time, not the mean of the intervals' rates: intervals may differ in length.
    pub mean_per_s: f64,
    /// Median over the intervals.
    pub p50_per_s: f64,
    /// 95th percentile over the intervals.
    pub p95_per_s: f64,
    /// 99th percentile over the intervals.
    pub p99_per_s: f64,
    /// Highest interval's rate.
    pub max_per_s: f64,
}

/// The amount of work or events in one interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IntervalAmount {
    /// Amount.
    pub amount: f64,
    /// Length of the interval.
    pub span_ns: u64,
}

impl RateSummary {
    /// Summarizes a rate; `None` if the total time is zero.
    ///
    /// Quantiles are nearest-rank (Hyndman and Fan's type 1): each is an observed rate.
    pub fn of(intervals: &[IntervalAmount]) -> Option<RateSummary> {
        let mut rates: Vec<f64> =
            intervals.iter().filter(|i| i.span_ns > 0).map(|i| i.amount * 1e9 / i.span_ns as f64).collect();
        let last_per_s = *rates.last()?;
        let total: f64 = intervals.iter().map(|interval| interval.amount).sum();
        let span_ns: u64 = intervals.iter().map(|interval| interval.span_ns).sum();
        rates.sort_by(f64::total_cmp);
        let rank = |quantile: f64| rates[((rates.len() as f64 * quantile).ceil() as usize).clamp(1, rates.len()) - 1];
        Some(RateSummary {
            last_per_s,
            mean_per_s: total * 1e9 / span_ns as f64,
            p50_per_s: rank(0.50),
            p95_per_s: rank(0.95),
            p99_per_s: rank(0.99),
            max_per_s: rank(1.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{IntervalAmount, RateSummary};

    #[test]
    fn the_mean_weighs_intervals_by_their_length() {
        let second = 1_000_000_000;
        let rates = RateSummary::of(&[
            IntervalAmount { amount: 10.0, span_ns: second },
            IntervalAmount { amount: 0.0, span_ns: 0 },
            IntervalAmount { amount: 90.0, span_ns: 3 * second },
        ])
        .unwrap();
        assert_eq!(rates.mean_per_s, 25.0);
        assert_eq!((rates.last_per_s, rates.p50_per_s, rates.p99_per_s), (30.0, 10.0, 30.0));
    }

    #[test]
    fn no_time_no_rate() {
        assert_eq!(RateSummary::of(&[]), None);
        assert_eq!(RateSummary::of(&[IntervalAmount { amount: 3.0, span_ns: 0 }]), None);
    }
}
