//! The phases of a run, and their repetition.

use serde::{Deserialize, Serialize};

use crate::recipe::PhaseKind;

/// A phase of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanPhase {
    /// Its name in the recipe.
    pub name: String,
    /// What it is for.
    pub kind: PhaseKind,
    /// Its duration; `None`: it ends when complete (a fill), or when all its jobs have ended.
    pub duration_ns: Option<u64>,
}

/// Repeated phases, from one of them to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeat {
    /// The first of them.
    pub from: usize,
    /// Total number of runs, at least 1.
    pub times: u64,
    /// Whether to repeat until a file system is full, regardless of `times`.
    pub until_full: bool,
}

impl Repeat {
    /// How often the phase with that sequence number was run before, in a plan with `phases` phases.
    pub(crate) fn repetition_of(self, sequence: u32, phases: usize) -> u64 {
        let repeated = (phases - self.from) as u64;
        u64::from(sequence).saturating_sub(self.from as u64) / repeated.max(1)
    }
}
