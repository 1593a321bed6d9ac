//! A recipe with every formula resolved: what will be done, in numbers, and what of it does not fit this machine.

mod direct;
mod resolve;
mod scope;
mod show;
#[cfg(test)]
mod tests;
mod totals;

use std::path::PathBuf;

pub use resolve::Request;
use serde::{Deserialize, Serialize};
pub use totals::{FileSystemSpace, Refusal, Totals};

use crate::data::FileSet;
use crate::job::Job;
use crate::recipe::{Access, Pacing, PhaseKind, Sync};

/// Everything that the load process needs to know, and everything that a person may want to know before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Recipe's name.
    pub recipe: String,
    /// Value of each variable in base units, in the recipe's order.
    pub variables: Vec<(String, f64)>,
    /// Seed of all random choices.
    pub seed: u64,
    /// Operations slower than this are kept one by one; running ones older than this are stuck.
    pub slower_than_ns: u64,
    /// Time between interval records.
    pub report_interval_ns: u64,
    /// CPUs of the load; decides how counters are spread.
    pub cpus: u64,
    /// Where the load notes what it wrote and what of it was acknowledged, where it stamps its data.
    pub ledger: Option<PathBuf>,
    /// Whether nothing is written, only what an earlier run wrote is read back.
    pub after_crash: bool,
    /// Value of each variable whose values are words.
    pub words: Vec<(String, String)>,
    /// Directories given by the user.
    pub directories: Vec<PathBuf>,
    /// Our subdirectory in each of them.
    pub data_directories: Vec<PathBuf>,
    /// Phases, in order.
    pub phases: Vec<Phase>,
    /// Which of them are run again.
    pub repeat: Option<Repeat>,
    /// Sets of files in each data directory.
    pub file_sets: Vec<FileSet>,
    /// Who does what.
    pub actors: Vec<Actor>,
    /// Names of the operation classes; operations carry the index.
    pub classes: Vec<String>,
    /// What it all comes to.
    pub totals: Totals,
    /// What of it does not fit; a plan with refusals is not run.
    pub refusals: Vec<Refusal>,
}

/// A stretch of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
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

/// Some threads that all do the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Actor {
    /// Recipe's name for it; its threads carry it.
    pub name: String,
    /// How many threads.
    pub threads: u64,
    /// It uses the first so many directories.
    pub directories: usize,
    /// Memory that each thread holds.
    pub holds_bytes: u64,
    /// Rounds per second of all its threads together; `None`: each round follows the one before.
    pub rate_per_s: Option<f64>,
    /// How paced rounds are spread.
    pub pacing: Pacing,
    /// Class of its rounds, if they are timed.
    pub round_class: Option<usize>,
    /// Whether it acts in each of the plan's phases.
    pub in_phase: Vec<bool>,
    /// What a round is.
    pub steps: Vec<Step>,
    /// What it does instead of rounds.
    pub job: Option<Job>,
    /// Whether each of its threads is a process.
    pub processes: bool,
    /// Whether a phase does not wait for the end of its job.
    pub background: bool,
}

/// One step of a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Class of its operations; `None`: they are not timed.
    pub class: Option<usize>,
    /// What to do.
    pub work: Work,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Work {
    /// Move bytes between memory and files.
    Transfer(Transfer),
    /// `fsync` the file used last.
    Fsync,
    /// Map, touch and unmap memory.
    Allocate {
        /// How much.
        bytes: u64,
    },
    /// Touch the memory held.
    Touch,
    /// Keep a CPU busy.
    Burn {
        /// How long.
        duration_ns: u64,
    },
    /// Walk and stat.
    Walk {
        /// Only this set; `None`: the whole data directory.
        set: Option<usize>,
    },
    /// Sleep.
    Pause {
        /// How long.
        duration_ns: u64,
    },
}

/// A read, a write, or the making of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transfer {
    /// Which of them.
    pub direction: Direction,
    /// Index of the file set.
    pub set: usize,
    /// Bytes per operation, or per thread of a fork-join operation.
    pub bytes: u64,
    /// Bytes per system call.
    pub block_bytes: u64,
    /// Where in the files.
    pub access: Access,
    /// What makes a write durable.
    pub sync: Sync,
    /// Threads that are started for each operation and joined at its end; `None`: the actor's own thread does it.
    pub fork: Option<u64>,
}

/// What a transfer does to its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Read.
    Read,
    /// Overwrite.
    Write,
    /// Write anew and rename over.
    Create,
}

impl Plan {
    /// Whether the phase's operations count in the run's figures.
    pub fn is_measured(&self, phase: usize) -> bool {
        self.phases.get(phase).is_some_and(|phase| phase.kind == PhaseKind::Run)
    }

    /// Total length of the warm-up phases.
    pub fn warmup_ns(&self) -> u64 {
        let warmups = self.phases.iter().filter(|phase| phase.kind == PhaseKind::Warmup);
        warmups.filter_map(|phase| phase.duration_ns).sum()
    }

    /// Total length of the measured phases.
    pub fn measured_ns(&self) -> u64 {
        let runs = self.phases.iter().filter(|phase| phase.kind == PhaseKind::Run);
        runs.filter_map(|phase| phase.duration_ns).sum()
    }

    /// Whether every timed actor follows its own completions: its latencies then suffer from coordinated omission,
    /// and whoever shows them should say so.
    pub fn is_unpaced(&self) -> bool {
        let is_timed = |actor: &&Actor| actor.steps.iter().any(|step| step.class.is_some());
        self.actors.iter().filter(is_timed).all(|actor| actor.rate_per_s.is_none())
    }

    /// The classes whose operations are made of those of other classes: to add them up would count time twice.
    pub fn wholes(&self) -> Vec<String> {
        let jobs = self.actors.iter().filter_map(|actor| actor.job.as_ref());
        jobs.filter_map(Job::whole).filter_map(|class| self.classes.get(class).cloned()).collect()
    }

    /// What a person should know before this is done.
    pub fn remarks(&self) -> Vec<&'static str> {
        let mut remarks: Vec<&str> = Vec::new();
        for remark in self.actors.iter().filter_map(|actor| actor.job.as_ref()?.remark()) {
            if !remarks.contains(&remark) {
                remarks.push(remark);
            }
        }
        remarks
    }

    /// How many threads a phase waits for before it begins: all that have a job in it.
    pub fn crew(&self, phase: usize) -> u64 {
        self.crew_members(phase).map(|actor| actor.threads).sum()
    }

    /// How many threads must have ended their job before the phase ends by itself.
    pub fn crew_to_end(&self, phase: usize) -> u64 {
        self.crew_members(phase).filter(|actor| !actor.background).map(|actor| actor.threads).sum()
    }

    fn crew_members(&self, phase: usize) -> impl Iterator<Item = &Actor> {
        let in_phase = move |actor: &&Actor| actor.in_phase.get(phase).copied().unwrap_or(false);
        self.actors.iter().filter(|actor| actor.job.is_some()).filter(in_phase)
    }

    /// The phase that follows at turn `turn + 1`, when `phase` ends at `turn`. `is_full`: a file system was found full.
    pub fn following(&self, phase: usize, turn: u32, is_full: bool) -> Option<usize> {
        match self.repeat {
            Some(repeat) if phase + 1 == self.phases.len() => {
                let again = if repeat.until_full { !is_full } else { self.repetition_of(turn) + 1 < repeat.times };
                again.then_some(repeat.from)
            }
            _ => Some(phase + 1).filter(|next| *next < self.phases.len()),
        }
    }

    /// How often the phase of that turn was run before.
    pub fn repetition_of(&self, turn: u32) -> u64 {
        let Some(repeat) = self.repeat else { return 0 };
        let repeated = (self.phases.len() - repeat.from) as u64;
        u64::from(turn).saturating_sub(repeat.from as u64) / repeated.max(1)
    }

    /// Threads of all actors, without those of fork-join operations.
    pub fn actor_threads(&self) -> u64 {
        self.actors.iter().map(|actor| actor.threads).fold(0, u64::saturating_add)
    }
}
