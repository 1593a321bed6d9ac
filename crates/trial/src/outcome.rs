//! The outcome of a trial.

use crate::blocks::complete;
use crate::carry_over::{CarryOver, carry_over};
use crate::effect::{Effect, effects};
use crate::figures::FigureTable;
use crate::schedule::PERIODS_OF_BLOCK;

/// What a trial found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// Of each figure, in the order of the table.
    pub effects: Vec<Effect>,
    /// Figures that carry over from one period to the next.
    pub carry_over: Vec<CarryOver>,
    /// How many tests of carry-over there were.
    pub carry_over_tests: usize,
    /// Complete blocks; others are excluded.
    pub blocks: usize,
    /// Periods in unfinished blocks.
    pub left_out: usize,
    /// Kernel name of the device whose bytes are counted.
    pub device: Option<String>,
}

impl Outcome {
    /// From the figures of all periods; differences up to the share `margin` do not matter.
    pub fn of(table: &FigureTable, margin: f64) -> Outcome {
        let blocks = complete(table).count();
        let (carry_over, carry_over_tests) = carry_over(table);
        Outcome {
            effects: effects(table, margin),
            carry_over,
            carry_over_tests,
            blocks,
            left_out: table.periods.len() - blocks * PERIODS_OF_BLOCK as usize,
            device: table.device.clone(),
        }
    }
}
