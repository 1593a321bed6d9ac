//! The phases of a run, and which of them are run again.

use serde::{Deserialize, Serialize};

use crate::recipe::PhaseKind;

/// A stretch of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanPhase {
    /// Recipe's name for it.
    pub name: String,
    /// What it is for.
    pub kind: PhaseKind,
    /// How long it lasts; `None`: it ends when it is complete (a fill), or when all its jobs have ended.
    pub duration_ns: Option<u64>,
}

/// Phases that are run again, from one of them to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeat {
    /// The first of them.
    pub from: usize,
    /// How often they are run in all, at least once.
    pub times: u64,
    /// Whether to go on, whatever `times` says, until a file system is full.
    pub until_full: bool,
}

impl Repeat {
    /// How often the phase that is run at `turn` was run before, where the plan has so many phases.
    pub(crate) fn repetition_of(self, sequence: u32, phases: usize) -> u64 {
        let repeated = (phases - self.from) as u64;
        u64::from(sequence).saturating_sub(self.from as u64) / repeated.max(1)
    }
}
