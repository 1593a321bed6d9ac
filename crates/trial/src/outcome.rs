//! The outcome of a trial.

use compare::Verdict;

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
    /// A wait that lasted to the end of the trial, and through whole periods.
    pub hang: Option<Hang>,
}

/// A wait of the command that had not ended with the trial. The periods that it spans have too little work and too few
/// stalls, on both sides, and which side made it last is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hang {
    /// How long it had lasted, ns: it took longer.
    pub at_least_ns: u64,
    /// Periods that lie within it.
    pub periods: usize,
    /// Whether it began in a period with the change; `None` if before all of them.
    pub began_changed: Option<bool>,
}

impl Hang {
    /// From the length of the longest wait that had not ended; `None` if no period lies within it.
    fn of(table: &FigureTable, unfinished_ns: u64) -> Option<Hang> {
        let ended_ns = table.periods.last()?.period.ended_ns;
        let since_ns = ended_ns.saturating_sub(unfinished_ns);
        let within = table.periods.iter().filter(|row| row.period.counted_from_ns >= since_ns).count();
        let began = table.periods.iter().rev().find(|row| row.period.began_ns <= since_ns);
        let began_changed = began.map(|row| row.period.changed);
        (unfinished_ns > 0 && within > 0).then_some(Hang { at_least_ns: unfinished_ns, periods: within, began_changed })
    }
}

impl Outcome {
    /// The same of a trial at whose end a wait of the command had lasted for that time. With a hang no figure has a
    /// verdict.
    pub fn with_unfinished(mut self, table: &FigureTable, unfinished_ns: u64) -> Outcome {
        self.hang = Hang::of(table, unfinished_ns);
        for effect in self.effects.iter_mut().filter(|_| self.hang.is_some()) {
            (effect.verdict, effect.need_periods) = (Verdict::Unfinished, None);
        }
        self
    }

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
            hang: None,
        }
    }
}
