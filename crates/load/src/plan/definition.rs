//! A plan, and what derives from it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::actor::Actor;
use super::rank_placement::RankPlacement;
use super::totals::{PlanTotals, Refusal};
use crate::board::{BoardNames, BoardShape};
use crate::data::FileSet;
use crate::fill::DataSet;
use crate::job::Job;
use crate::recipe::PhaseKind;
use crate::schedule::{PlanPhase, Repeat};

/// The input of the load process, and what `--plan` shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Recipe's name.
    pub recipe: String,
    /// Value of each variable in base units, in the recipe's order.
    pub variables: Vec<(String, f64)>,
    /// Seed of all random choices.
    pub seed: u64,
    /// Operations slower than this are recorded individually; running operations older than this are stuck.
    pub slower_than_ns: u64,
    /// Time between interval records.
    pub report_interval_ns: u64,
    /// CPUs of the load; limits the number of counter shards.
    pub cpus: u64,
    /// Path of the write ledger, if data is stamped.
    #[serde(with = "access::path::optional")]
    pub ledger: Option<PathBuf>,
    /// Whether the load writes nothing and only reads back what an earlier run wrote.
    pub after_crash: bool,
    /// Value of each variable whose values are words.
    pub words: Vec<(String, String)>,
    /// Directories given by the user.
    #[serde(with = "access::path::each")]
    pub directories: Vec<PathBuf>,
    /// The data directory in each of them.
    #[serde(with = "access::path::each")]
    pub data_directories: Vec<PathBuf>,
    /// Phases, in order.
    pub phases: Vec<PlanPhase>,
    /// The repeated phases.
    pub repeat: Option<Repeat>,
    /// Sets of files in each data directory.
    pub file_sets: Vec<FileSet>,
    /// The actors.
    pub actors: Vec<Actor>,
    /// Names of the operation classes; operations carry the index.
    pub classes: Vec<String>,
    /// Its totals.
    pub totals: PlanTotals,
    /// What does not fit; a plan with refusals is not run.
    pub refusals: Vec<Refusal>,
    /// The part of it that runs here; `None`: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<RankPlacement>,
}

impl Plan {
    /// Whether the phase is measured.
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

    /// The classes whose operations consist of those of other classes; a total over all classes would count them twice.
    pub fn wholes(&self) -> Vec<String> {
        let jobs = self.actors.iter().filter_map(|actor| actor.job.as_ref());
        jobs.filter_map(Job::whole).filter_map(|class| self.classes.get(class).cloned()).collect()
    }

    /// Warnings to show before the run.
    pub fn remarks(&self) -> Vec<&'static str> {
        let mut remarks: Vec<&str> = Vec::new();
        for remark in self.actors.iter().filter_map(|actor| actor.job.as_ref()?.remark()) {
            if !remarks.contains(&remark) {
                remarks.push(remark);
            }
        }
        remarks
    }

    /// Number of threads that a phase waits for before it begins: all with a job in it.
    pub fn job_threads(&self, phase: usize) -> u64 {
        self.job_actors(phase).map(|actor| actor.threads).sum()
    }

    /// Number of those that run on this node.
    pub(crate) fn job_threads_here(&self, phase: usize) -> u64 {
        self.job_actors(phase).map(|actor| self.threads_here(actor)).sum()
    }

    /// Number of threads on this node that must end their job to complete the phase.
    pub(crate) fn job_threads_to_end(&self, phase: usize) -> u64 {
        self.job_actors(phase).filter(|actor| !actor.background).map(|actor| self.threads_here(actor)).sum()
    }

    fn threads_here(&self, actor: &Actor) -> u64 {
        match &self.placement {
            Some(placement) => (0..actor.threads).filter(|ordinal| placement.is_here(*ordinal)).count() as u64,
            None => actor.threads,
        }
    }

    fn job_actors(&self, phase: usize) -> impl Iterator<Item = &Actor> {
        let in_phase = move |actor: &&Actor| actor.in_phase.get(phase).copied().unwrap_or(false);
        self.actors.iter().filter(|actor| actor.job.is_some()).filter(in_phase)
    }

    /// The phase after `phase` with sequence number `sequence`. `is_full`: a file system was found full.
    pub fn following(&self, phase: usize, sequence: u32, is_full: bool) -> Option<usize> {
        match self.repeat {
            Some(repeat) if phase + 1 == self.phases.len() => {
                let again = if repeat.until_full { !is_full } else { self.repetition_of(sequence) + 1 < repeat.times };
                again.then_some(repeat.from)
            }
            _ => Some(phase + 1).filter(|next| *next < self.phases.len()),
        }
    }

    /// How often the phase with that sequence number was run before.
    pub(crate) fn repetition_of(&self, sequence: u32) -> u64 {
        self.repeat.map_or(0, |repeat| repeat.repetition_of(sequence, self.phases.len()))
    }

    /// Threads of all actors, without those of fork-join operations.
    pub(crate) fn actor_threads(&self) -> u64 {
        self.actors.iter().map(|actor| actor.threads).fold(0, u64::saturating_add)
    }

    /// Dimensions of its board.
    pub fn board_shape(&self) -> BoardShape {
        let jobs = self.actors.iter().filter_map(|actor| actor.job.as_ref());
        BoardShape {
            classes: self.classes.len(),
            threads: self.actor_threads() as usize,
            cpus: self.cpus,
            depth: jobs.map(Job::depth).max().unwrap_or(0),
        }
    }

    /// The names behind the numbers on its board.
    pub(crate) fn board_names(&self) -> BoardNames {
        BoardNames {
            classes: self.classes.clone(),
            wholes: self.wholes(),
            data_directories: self.data_directories.clone(),
            file_sets: self.file_sets.clone(),
            slower_than_ns: self.slower_than_ns,
        }
    }

    /// The files that it works on.
    pub(crate) fn data_set(&self) -> DataSet<'_> {
        DataSet {
            recipe: &self.recipe,
            seed: self.seed,
            ledger: self.ledger.as_deref(),
            data_directories: &self.data_directories,
            file_sets: &self.file_sets,
            cpus: self.cpus,
        }
    }

    /// The first thread of the actor whose ranks write until a time limit.
    pub(crate) fn first_timed_writer(&self) -> Option<usize> {
        let writes = |actor: &Actor| actor.job.as_ref().is_some_and(Job::writes_for_a_time);
        let index = self.actors.iter().position(writes)?;
        Some(self.actors[..index].iter().map(|actor| actor.threads as usize).sum())
    }
}
