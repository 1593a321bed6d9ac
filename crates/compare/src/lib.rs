//! Comparison of runs: what differs, by how much, and with what confidence. docs/COMPARE.md describes the methods and
//! their assumptions.
//!
//! The unit is the run, never the operation: operations of one run share its disk and memory and are not independent.
#![forbid(unsafe_code)]

mod cautions;
mod compared;
mod comparison;
mod counters;
mod differences;
mod estimate;
mod facts;
mod figures;
mod foreign;
mod implied_changes;
mod machines;
mod plane;
mod reader;
mod scaling;
mod set;
mod verdict;

#[cfg(test)]
mod tests;

pub use compared::{Compared, ComparedStalls};
pub use comparison::{Comparison, MARGIN, Options, compare};
pub use counters::wanted_counter;
pub use differences::Difference;
pub use figures::{Amount, Better, Fact, Figure, Group, RunFigures, StallFigure};
pub use foreign::{FS_MARK_CALLS, ForeignError, foreign_runs};
pub use machines::Machine;
pub use plane::{Panel, Plane, Point, plane};
pub use reader::RunReader;
pub use scaling::{Cell, Scaling, scaling};
pub use set::{NodeRun, set_figures};
pub use verdict::{CONFIDENCE, EQUIVALENCE_CONFIDENCE, FEWEST_RUNS, Findings, SIGNIFICANCE, Verdict};
