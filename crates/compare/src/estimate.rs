//! How much a metric differs: its test, its ratio and its spread. Runs are compared within their blocks, such as
//! machines.

use super::figures::Amount;
use super::verdict::{CONFIDENCE, EQUIVALENCE_CONFIDENCE, SIGNIFICANCE};
use statistics::{BlockRatios, Count, LogRatios, RankTests, RateRatio, Ratio, StratifiedRatios};

/// Values of A and of B, for each block.
type Sides<T> = (Vec<T>, Vec<T>);

/// The estimated ratio of a metric.
#[derive(Debug)]
pub(super) struct Estimate {
    /// Values of the runs that count.
    pub(super) a: Vec<f64>,
    pub(super) b: Vec<f64>,
    /// Exact, two-sided.
    pub(super) p: f64,
    /// B to A, with an interval of [`CONFIDENCE`].
    pub(super) ratio: Ratio,
    /// The same of [`EQUIVALENCE_CONFIDENCE`].
    pub(super) narrow: Ratio,
    /// Variance of the logarithm between runs; `None` if unknown.
    pub(super) variance: Option<f64>,
    /// Logarithm of the ratio, for planning.
    pub(super) log_ratio: f64,
    /// Typical values of both sides.
    pub(super) typical: (f64, f64),
}

impl Estimate {
    /// `None` where no block has a value on both sides, or all values are zero.
    pub(super) fn of(blocks: &[Sides<Amount>], tests: &mut RankTests) -> Option<Estimate> {
        let both = with_both_sides(blocks);
        let values: Vec<Sides<f64>> = mapped(&both, |amount| amount.value().unwrap_or_default());
        let all = |side: fn(&Sides<f64>) -> &Vec<f64>| values.iter().flat_map(side).copied().collect::<Vec<f64>>();
        let (a, b) = (all(|both| &both.0), all(|both| &both.1));
        if a.iter().chain(&b).all(|&value| value == 0.0) {
            return None;
        }
        let levels = Levels::of(&values, tests)?;
        let p = levels.p(tests);
        let are_counts = both.iter().flat_map(|(a, b)| a.iter().chain(b)).all(|amount| count(*amount).is_some());
        let counts = are_counts.then(|| mapped(&both, |amount| count(amount).unwrap_or(NOTHING)));
        let typical = match &counts {
            Some(counts) => (rate(counts, |both| &both.0), rate(counts, |both| &both.1)),
            None => (middle(&values, |both| &both.0), middle(&values, |both| &both.1)),
        };
        // The spread of rates cannot be estimated from one run a side on each machine: of 6 such machines the interval
        // held the truth in 81 % of simulated cases.
        let is_paired = matches!(levels, Levels::Pairs(_));
        let Size { ratio, narrow, variance, log_ratio } = match counts.filter(|_| !is_paired) {
            Some(counts) => Size::of_counts(&counts, p)?,
            None => Size::of_levels(&levels, &values, tests),
        };
        Some(Estimate { a, b, p, ratio, narrow, variance, log_ratio, typical })
    }
}

/// What an [`Estimate`] says of the difference.
struct Size {
    ratio: Ratio,
    narrow: Ratio,
    variance: Option<f64>,
    log_ratio: f64,
}

impl Size {
    fn of_counts(counts: &[Sides<Count>], p: f64) -> Option<Size> {
        let rates = RateRatio::of_strata(counts)?;
        Some(Size {
            ratio: agreeing(rates.ratio(CONFIDENCE), p),
            narrow: rates.ratio(EQUIVALENCE_CONFIDENCE),
            variance: Some(rates.variance_of_one_run),
            log_ratio: rates.log_ratio,
        })
    }

    fn of_levels(levels: &Levels, values: &[Sides<f64>], tests: &mut RankTests) -> Size {
        let ratio = levels.ratio(CONFIDENCE, tests);
        Size {
            ratio,
            narrow: levels.ratio(EQUIVALENCE_CONFIDENCE, tests),
            variance: log_variance(values),
            log_ratio: ratio.ratio.ln(),
        }
    }
}

/// The blocks with comparable values on both sides, and these values.
fn with_both_sides(blocks: &[Sides<Amount>]) -> Vec<Sides<Amount>> {
    let known = |amounts: &Vec<Amount>| {
        amounts.iter().copied().filter(|amount| amount.value().is_some()).collect::<Vec<Amount>>()
    };
    let both = blocks.iter().map(|(a, b)| (known(a), known(b)));
    both.filter(|(a, b)| !a.is_empty() && !b.is_empty()).collect()
}

/// The ratio within one block, with an interval of this confidence. `None` where a side has no value.
pub(super) fn ratio_of_block(block: &Sides<Amount>, confidence: f64, tests: &mut RankTests) -> Option<Ratio> {
    let counts = |side: &Vec<Amount>| side.iter().map(|amount| count(*amount)).collect::<Option<Vec<Count>>>();
    if let (Some(a), Some(b)) = (counts(&block.0), counts(&block.1)) {
        return RateRatio::of(&a, &b).map(|rates| rates.ratio(confidence));
    }
    let values = |side: &Vec<Amount>| side.iter().filter_map(|amount| amount.value()).collect::<Vec<f64>>();
    Some(LogRatios::of(&values(&block.0), &values(&block.1))?.ratio(confidence, tests))
}

/// The rank test and the ratio that go with the blocks.
enum Levels {
    /// One block.
    Pooled(Sides<f64>, LogRatios),
    /// Pairs: ranks within a pair would only be its sign.
    Pairs(BlockRatios),
    /// Several blocks.
    Stratified(StratifiedRatios),
}

impl Levels {
    fn of(blocks: &[Sides<f64>], tests: &mut RankTests) -> Option<Levels> {
        if let [(a, b)] = blocks {
            tests.p(a, b)?;
            return Some(Levels::Pooled((a.clone(), b.clone()), LogRatios::of(a, b)?));
        }
        if blocks.iter().all(|(a, b)| (a.len(), b.len()) == (1, 1)) {
            let log = |(a, b): &Sides<f64>| if a[0] == b[0] { 0.0 } else { b[0].ln() - a[0].ln() };
            return Some(Levels::Pairs(BlockRatios::of(blocks.iter().map(log).collect())?));
        }
        Some(Levels::Stratified(StratifiedRatios::of(blocks)?))
    }

    fn p(&self, tests: &mut RankTests) -> f64 {
        match self {
            Levels::Pooled((a, b), _) => tests.p(a, b).unwrap_or(1.0),
            Levels::Pairs(pairs) => pairs.p(),
            Levels::Stratified(ratios) => ratios.p(),
        }
    }

    fn ratio(&self, confidence: f64, tests: &mut RankTests) -> Ratio {
        match self {
            Levels::Pooled(_, ratios) => ratios.ratio(confidence, tests),
            Levels::Pairs(pairs) => pairs.ratio(confidence),
            Levels::Stratified(ratios) => ratios.ratio(confidence, tests),
        }
    }
}

fn mapped<T: Copy, U>(blocks: &[Sides<T>], to: impl Fn(T) -> U) -> Vec<Sides<U>> {
    let side = |side: &Vec<T>| side.iter().map(|value| to(*value)).collect::<Vec<U>>();
    blocks.iter().map(|(a, b)| (side(a), side(b))).collect()
}

fn count(amount: Amount) -> Option<Count> {
    match amount {
        Amount::Count { events, over } if over > 0.0 => Some(Count { events, over }),
        _ => None,
    }
}

/// Events in no time: of an amount that is no count.
const NOTHING: Count = Count { events: 0.0, over: 1.0 };

/// All events of a side, divided by all of its time.
fn rate(blocks: &[Sides<Count>], side: fn(&Sides<Count>) -> &Vec<Count>) -> f64 {
    let counts = || blocks.iter().flat_map(side);
    counts().map(|count| count.events).sum::<f64>() / counts().map(|count| count.over).sum::<f64>()
}

/// The interval of a rate ratio assumes a model, the test does not: where the test finds no difference, the interval is
/// extended to contain 1.
fn agreeing(ratio: Ratio, p: f64) -> Ratio {
    let interval =
        ratio.interval.map(|(low, high)| if p > SIGNIFICANCE { (low.min(1.0), high.max(1.0)) } else { (low, high) });
    Ratio { interval, ..ratio }
}

/// Variance of the logarithms about the means of their blocks, after a common shift of B by least squares; `None` where
/// it is unknown: too few values, or a zero.
fn log_variance(blocks: &[Sides<f64>]) -> Option<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let logs = mapped(blocks, f64::ln);
    // As precise as the difference of the block's means.
    let weight = |(a, b): &Sides<f64>| (a.len() * b.len()) as f64 / (a.len() + b.len()) as f64;
    let shifts = logs.iter().map(|both| weight(both) * (mean(&both.1) - mean(&both.0))).sum::<f64>();
    let shift = shifts / logs.iter().map(weight).sum::<f64>();
    let squares = |(a, b): &Sides<f64>| {
        let all: Vec<f64> = a.iter().copied().chain(b.iter().map(|log| log - shift)).collect();
        let middle = mean(&all);
        all.iter().map(|log| (log - middle).powi(2)).sum::<f64>()
    };
    let values: usize = logs.iter().map(|(a, b)| a.len() + b.len()).sum();
    let freedom = values.checked_sub(logs.len() + 1).filter(|freedom| *freedom > 0)?;
    let is_spread = logs.len() > 1 || logs.iter().all(|(a, b)| a.len() > 1 && b.len() > 1);
    let variance = logs.iter().map(squares).sum::<f64>() / freedom as f64;
    (is_spread && variance.is_finite()).then_some(variance)
}

/// The median of a side; of several blocks the geometric mean of theirs, whose ratio goes with the ratio within blocks.
fn middle(blocks: &[Sides<f64>], side: fn(&Sides<f64>) -> &Vec<f64>) -> f64 {
    let medians: Vec<f64> = blocks.iter().map(|both| median(side(both))).collect();
    match medians.as_slice() {
        [one] => *one,
        several => (several.iter().map(|median| median.ln()).sum::<f64>() / several.len() as f64).exp(),
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    0.5 * (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2])
}
