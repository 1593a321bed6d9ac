//! A switchback experiment on live load: periods with a setting as found (A) and changed (B), in random blocks ABBA or
//! BAAB. docs/TRIAL.md describes the method and its assumptions.
//!
//! ```text
//! schedule ──► (periods, run by the program, recorded) ──► figures of each period ──► blocks ──► effects, carry-over
//! ```
//!
//! This crate changes nothing and reads nothing: rows of a run go in, verdicts come out.
#![forbid(unsafe_code)]

mod blocks;
mod carry_over;
mod effect;
mod figures;
mod guard;
mod outcome;
mod schedule;

#[cfg(test)]
mod tests;

pub use carry_over::CarryOver;
pub use effect::{Effect, FEWEST_BLOCKS};
pub use figures::{FigureKind, FigureTable, Measurements, PeriodFigures, wanted_metric};
pub use guard::{Guard, GuardError, GuardWatch};
pub use outcome::{Hang, Outcome};
pub use schedule::{PERIODS_OF_BLOCK, Slot, schedule};
