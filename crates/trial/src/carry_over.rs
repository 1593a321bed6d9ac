//! Whether a period still has the effects of what was before it.
//!
//! A switchback experiment compares periods as if none came before it. Two tests of that, by the same signs of blocks
//! as the test of the effect. Within a period: does the second half differ from the first otherwise with the change
//! than without? After a period: of the two in the middle of a block, which are of one side, the first follows the
//! other side, and the second its own; do they differ?

use compare::SIGNIFICANCE;
use statistics::{BlockRatios, Ratio, q_values};

use crate::blocks::{complete, log_ratio, side};
use crate::effect::FEWEST_BLOCKS;
use crate::figures::{FigureKind, FigureTable, PeriodFigures};

/// A figure that carries over.
#[derive(Debug, Clone, PartialEq)]
pub struct CarryOver {
    /// The figure.
    pub kind: FigureKind,
    /// Whether it still moves within a period; else the period after the other side differs from the one after its own.
    pub within: bool,
    /// By which factor.
    pub ratio: Ratio,
    /// Of the exact test.
    pub p: f64,
    /// Corrected for the number of tests.
    pub q: f64,
}

/// The tests that found something, and how many there were.
pub(crate) fn carry_over(table: &FigureTable) -> (Vec<CarryOver>, usize) {
    let tests = (0..table.kinds.len()).flat_map(|column| [(column, true), (column, false)]);
    let mut found: Vec<CarryOver> = tests.filter_map(|(column, within)| tested(table, column, within)).collect();
    let p_values: Vec<f64> = found.iter().map(|test| test.p).collect();
    for (test, q) in found.iter_mut().zip(q_values(&p_values)) {
        test.q = q;
    }
    let count = found.len();
    found.retain(|test| test.q <= SIGNIFICANCE);
    (found, count)
}

fn tested(table: &FigureTable, column: usize, within: bool) -> Option<CarryOver> {
    let of_block =
        |block: &[PeriodFigures]| if within { in_halves(block, column) } else { in_the_middle(block, column) };
    let ratios = BlockRatios::of(complete(table).filter_map(of_block).collect())?;
    let is_enough = ratios.blocks() >= FEWEST_BLOCKS;
    let kind = table.kinds[column].clone();
    let p = ratios.p();
    is_enough.then(|| CarryOver { kind, within, ratio: ratios.ratio(compare::CONFIDENCE), p, q: p })
}

/// Growth from the first half to the second with the change, less that without.
fn in_halves(block: &[PeriodFigures], column: usize) -> Option<f64> {
    let growth = |row: &PeriodFigures| {
        let [first, second] = row.halves.each_ref().map(|half| half[column]);
        log_ratio(&[first?], &[second?]).filter(|log| log.is_finite())
    };
    let mean = |changed: bool| {
        let growths: Vec<f64> = side(block, changed).filter_map(growth).collect();
        (!growths.is_empty()).then(|| growths.iter().sum::<f64>() / growths.len() as f64)
    };
    Some(mean(true)? - mean(false)?)
}

/// From the period after the other side to the one after its own, towards B.
fn in_the_middle(block: &[PeriodFigures], column: usize) -> Option<f64> {
    let [_, after_other, after_own, _] = block else { return None };
    let log = log_ratio(&[after_other.whole[column]?], &[after_own.whole[column]?])?;
    Some(if after_own.period.changed { log } else { -log })
}
