//! Runs against runs: what differs, by how much, and how sure that is. The methods and what they assume are written down
//! in docs/COMPARE.md.
//!
//! The unit is the run, never the single operation: operations of one run share its disk, its memory and its luck, and are
//! not independent of one another.
#![forbid(unsafe_code)]

mod cautions;
mod comparison;
mod counters;
mod differences;
mod facts;
mod figures;
mod follows;
mod foreign;
mod plane;
mod reader;
mod scaling;
mod verdict;

#[cfg(test)]
mod tests;

pub use comparison::{Compared, ComparedStalls, Comparison, MARGIN, Options, compare};
pub use counters::wanted_counter;
pub use differences::Difference;
pub use figures::{Amount, Better, Fact, Figure, Group, RunFigures, StallFigure};
pub use foreign::{ForeignError, foreign_runs};
pub use plane::{Panel, Plane, Point, plane};
pub use reader::RunReader;
pub use scaling::{Cell, Scaling, scaling};
pub use verdict::{FEWEST_RUNS, SIGNIFICANCE, Verdict};
