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

/// The same with the interval's place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimedAmount {
    /// Begin of the interval.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
    /// Amount.
    pub amount: f64,
}

impl TimedAmount {
    fn span_ns(&self) -> u64 {
        self.to_ns.saturating_sub(self.from_ns)
    }

    /// Without its place.
    pub fn interval(&self) -> IntervalAmount {
        IntervalAmount { amount: self.amount, span_ns: self.span_ns() }
    }
}

/// The amounts of parts that did their work at the same time, on one clock: sums over the intervals of the part that
/// covers most time. An interval of another part is spread evenly over its time; what lies outside of all intervals
/// counts in the nearest one, so that the total is exact.
pub fn together(parts: &[&[TimedAmount]]) -> Vec<TimedAmount> {
    let covers = |part: &&&[TimedAmount]| part.iter().map(TimedAmount::span_ns).fold(0, u64::saturating_add);
    let Some(longest) = parts.iter().max_by_key(covers) else { return Vec::new() };
    let mut cells: Vec<TimedAmount> = longest.iter().filter(|cell| cell.span_ns() > 0).copied().collect();
    cells.sort_by_key(|cell| cell.from_ns);
    let mut is_own = true;
    for part in parts {
        // Of parts that cover the same time, one gave the cells.
        if std::ptr::eq(*part, *longest) && std::mem::take(&mut is_own) {
            continue;
        }
        part.iter().for_each(|amount| spread(amount, &mut cells));
    }
    cells
}

fn spread(amount: &TimedAmount, cells: &mut [TimedAmount]) {
    let first = cells.partition_point(|cell| cell.to_ns <= amount.from_ns);
    let mut left = amount.amount;
    for cell in cells[first..].iter_mut().take_while(|cell| cell.from_ns < amount.to_ns) {
        let within = amount.to_ns.min(cell.to_ns).saturating_sub(amount.from_ns.max(cell.from_ns));
        let part = (amount.amount * within as f64 / amount.span_ns().max(1) as f64).min(left);
        cell.amount += part;
        left -= part;
    }
    let middle_ns = amount.from_ns + amount.span_ns() / 2;
    let distance =
        |cell: &&mut TimedAmount| cell.from_ns.saturating_sub(middle_ns).max(middle_ns.saturating_sub(cell.to_ns));
    if let Some(nearest) = cells.iter_mut().min_by_key(distance) {
        nearest.amount += left;
    }
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
    use super::{IntervalAmount, RateSummary, TimedAmount, together};

    fn amounts(of: &[(u64, u64, f64)]) -> Vec<TimedAmount> {
        of.iter().map(|&(from_ns, to_ns, amount)| TimedAmount { from_ns, to_ns, amount }).collect()
    }

    /// ```text
    /// a |--10--|--10--|--10--|
    /// b    |--8--|--8---|
    /// ```
    #[test]
    fn parts_with_other_intervals_add_up() {
        let (a, b) =
            (amounts(&[(0, 10, 10.0), (10, 20, 10.0), (20, 30, 10.0)]), amounts(&[(5, 13, 8.0), (13, 21, 8.0)]));
        assert_eq!(together(&[&a, &b]), amounts(&[(0, 10, 15.0), (10, 20, 20.0), (20, 30, 11.0)]));
        assert_eq!(together(&[&b, &a]), together(&[&a, &b]));
        assert_eq!(together(&[&a]), a);
        assert_eq!(together(&[&a, &a]), amounts(&[(0, 10, 20.0), (10, 20, 20.0), (20, 30, 20.0)]));
    }

    /// Clocks are known with an error: an interval may seem to lie before the first or after the last, or in a gap.
    #[test]
    fn nothing_is_lost_outside_of_all_intervals() {
        let cells = amounts(&[(10, 20, 1.0), (50, 60, 1.0)]);
        let other = amounts(&[(0, 5, 1.0), (15, 25, 10.0), (58, 58, 4.0), (61, 62, 8.0)]);
        let found = together(&[&cells, &other, &[]]);
        assert_eq!(found, amounts(&[(10, 20, 12.0), (50, 60, 13.0)]));
        assert!(together(&[]).is_empty() && together(&[&[], &amounts(&[(5, 5, 1.0)])]).is_empty());
    }

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
