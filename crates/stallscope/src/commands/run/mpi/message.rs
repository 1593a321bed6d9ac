//! What ranks say to each other.

use std::path::PathBuf;

use load::conductor::PartEnd;
use load::plan::Plan;
use serde::{Deserialize, Serialize};

use super::clock::NodeClock;
use super::figures::NodeRows;

/// A message. Times are on the clock of rank 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Message {
    /// Rank 0 to all: what to run, and the set's directory where there are several nodes.
    Plan { plan: Box<Plan>, out: Option<PathBuf> },
    /// A leader to the ranks of its node: the board, as a descriptor of the leader's process, and the load's cgroups.
    Board { pid: u32, descriptor: i32, cgroup_procs: Vec<PathBuf> },
    /// A leader to rank 0: the threads of its node are ready for that phase.
    Ready { sequence: u32 },
    /// Rank 0 to leaders: the common start.
    Start { sequence: u32, start_ns: u64 },
    /// A leader to rank 0: the phase has ended on its node.
    Ended { sequence: u32, end: PartEnd },
    /// Rank 0 to leaders: it has ended on all.
    AllEnded { sequence: u32, end: PartEnd },
    /// A leader to rank 0, and rank 0 to leaders: the load has failed.
    Failed { why: String },
    /// Between rank 0 and leaders, once a second: a sign of life.
    Alive,
    /// A leader to rank 0: the rows of its run that figures are made of.
    Figures { rows: Box<NodeRows> },
    /// A leader to rank 0: its load is over, and no sign of life follows.
    Over,
    /// A leader to rank 0: it waits to measure its clock; and rank 0 to it: it now answers.
    Measure,
    /// A leader to rank 0: its clock, after each measurement.
    Clock { clock: NodeClock },
    /// A rank to rank 0: its load process has ended, and nothing uses the data any more.
    Gone,
    /// Rank 0 to all: leave MPI.
    Leave,
    /// A leader that lost rank 0 to the ranks of its node: end, without the others.
    Alone,
}
