//! What a change did to a figure.

use compare::{CONFIDENCE, EQUIVALENCE_CONFIDENCE, Findings, Verdict};
use statistics::{BlockRatios, Ratio, q_values};

use crate::blocks::{complete, log_ratio, side};
use crate::figures::{FigureKind, FigureTable, PeriodFigures};
use crate::schedule::PERIODS_OF_BLOCK;

/// Minimum number of blocks for a verdict: the smallest possible p of five is 0.0625.
pub const FEWEST_BLOCKS: usize = 6;

/// A figure with the change (B) compared with the same without it (A).
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// The figure.
    pub kind: FigureKind,
    /// Mean of the periods as found.
    pub a: f64,
    /// Mean of the periods with the change.
    pub b: f64,
    /// B to A.
    pub ratio: Ratio,
    /// Of the exact test, two-sided.
    pub p: f64,
    /// Corrected for the number of figures.
    pub q: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// Blocks with values on both sides.
    pub blocks: usize,
    /// Additional periods for a verdict; `None` where there is a verdict, or the number is unknown.
    pub need_periods: Option<u64>,
}

/// The effects on all figures that are known. Differences up to the share `margin` do not matter.
pub(crate) fn effects(table: &FigureTable, margin: f64) -> Vec<Effect> {
    let found: Vec<(Effect, Findings)> =
        (0..table.kinds.len()).filter_map(|column| uncorrected(table, column, margin)).collect();
    let is_tested = |effect: &Effect| effect.blocks >= FEWEST_BLOCKS;
    let p_values: Vec<f64> = found.iter().filter(|(effect, _)| is_tested(effect)).map(|(effect, _)| effect.p).collect();
    let mut q_values = q_values(&p_values).into_iter();
    let correct = |(mut effect, findings): (Effect, Findings)| {
        if is_tested(&effect) {
            effect.q = q_values.next().unwrap_or(1.0);
        }
        effect.verdict = findings.verdict(effect.q);
        let blocks = (effect.verdict == Verdict::NotEnoughData).then(|| findings.need_runs()).flatten();
        effect.need_periods = blocks.map(|blocks| blocks * u64::from(PERIODS_OF_BLOCK));
        effect
    };
    found.into_iter().map(correct).collect()
}

/// `None` where a side has no value, or all values are zero.
fn uncorrected(table: &FigureTable, column: usize, margin: f64) -> Option<(Effect, Findings)> {
    let kind = table.kinds[column].clone();
    let values = |block: &[PeriodFigures], changed: bool| -> Vec<f64> {
        side(block, changed).filter_map(|row| row.whole[column]).collect()
    };
    let of_side = |changed: bool| complete(table).flat_map(|block| values(block, changed)).collect::<Vec<f64>>();
    let (a, b) = (of_side(false), of_side(true));
    if a.iter().chain(&b).all(|value| *value == 0.0) {
        return None;
    }
    let logs = complete(table).filter_map(|block| log_ratio(&values(block, false), &values(block, true)));
    let ratios = BlockRatios::of(logs.collect())?;
    let (ratio, p) = (ratios.ratio(CONFIDENCE), ratios.p());
    let findings = Findings {
        better: kind.better(),
        runs: ratios.blocks(),
        fewest: FEWEST_BLOCKS,
        ratio,
        narrow: ratios.ratio(EQUIVALENCE_CONFIDENCE).interval,
        log_ratio: ratio.ratio.ln(),
        // The formula is that of two sides of independent runs, whose variances add up; a block is one difference.
        variance: ratios.variance().map(|variance| variance / 2.0),
        margin,
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let effect = Effect {
        kind,
        a: mean(&a),
        b: mean(&b),
        ratio,
        p,
        q: p,
        verdict: Verdict::NotEnoughData,
        blocks: ratios.blocks(),
        need_periods: None,
    };
    Some((effect, findings))
}
