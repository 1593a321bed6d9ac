//! What a recipe consists of.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::job::{JobRecipe, WordValue};
use super::section::Formula;
use super::variable::Variable;
use crate::error::LoadError;
use crate::source_text::SourceText;
use crate::suggestion::nearest;

/// A recipe, parsed and checked except for what depends on the machine.
#[derive(Debug, Clone)]
pub struct Recipe {
    /// Its name, which data directories carry.
    pub name: String,
    /// What it does, in one line.
    pub about: String,
    /// What it reproduces and where that comes from.
    pub origin: String,
    /// Its variables, in the file's order.
    pub variables: Vec<Variable>,
    /// The variable that holds the report interval, if there is one.
    pub report_interval: Option<String>,
    /// A flag that names directories, as some originals have.
    pub directories: Option<PathFlag>,
    /// The variable that counts its ranks: processes that a launcher (MPI, Slurm) may start over many machines.
    pub ranks: Option<String>,
    /// A flag that names a file to which the figures are appended in the original's format.
    pub log: Option<PathFlag>,
    pub(crate) phases: Vec<PhaseRecipe>,
    pub(crate) repeat: Option<RepeatRecipe>,
    pub(crate) file_sets: Vec<FileSetRecipe>,
    pub(crate) actors: Vec<ActorRecipe>,
    pub(crate) source: Arc<SourceText>,
}

/// A flag that names a path, as some originals have.
#[derive(Debug, Clone)]
pub struct PathFlag {
    /// The flag without its dashes.
    pub flag: String,
    /// One-letter flag.
    pub short: Option<char>,
}

/// What a phase is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseKind {
    /// Creates the files; ends when they are complete.
    Fill,
    /// The actors run, excluded from the results.
    Warmup,
    /// The actors run, measured.
    Run,
}

/// Which part of the files an operation uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Any directory, any file, any offset that is a multiple of the block size.
    Random,
    /// Consecutive pieces of all files, each thread from its own start.
    Sequential,
}

/// The sync call that completes a write operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteSync {
    /// Nothing.
    None,
    /// `fdatasync(2)`.
    Fdatasync,
    /// `fsync(2)`.
    Fsync,
}

/// The arrival distribution of a paced actor's rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// At equal intervals.
    Fixed,
    /// As independent arrivals.
    Poisson,
}

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// Read from a file.
    Read,
    /// Overwrite a part of a file.
    Write,
    /// Write a new file and rename it over one of the set.
    Create,
    /// `fsync` the file that the thread used last.
    Fsync,
    /// Map memory, touch every page, unmap it.
    Allocate,
    /// Touch every page of the memory that the actor holds.
    Touch,
    /// Keep a CPU busy.
    Burn,
    /// Walk a directory tree and stat every file.
    Walk,
    /// Sleep.
    Pause,
}

#[derive(Debug, Clone)]
pub(crate) struct PhaseRecipe {
    pub(crate) name: String,
    pub(crate) span: std::ops::Range<usize>,
    pub(crate) kind: PhaseKind,
    pub(crate) duration: Option<Formula>,
    /// The phase is skipped where this is 0.
    pub(crate) when: Option<Formula>,
}

/// Repeated phases: from one of them to the last.
#[derive(Debug, Clone)]
pub(crate) struct RepeatRecipe {
    pub(crate) from: usize,
    pub(crate) count: Formula,
    /// Whether to repeat until a file system is full, regardless of the count.
    pub(crate) until_full: Option<Formula>,
}

#[derive(Debug, Clone)]
pub(crate) struct FileSetRecipe {
    pub(crate) name: String,
    pub(crate) count: Formula,
    pub(crate) size: Formula,
    /// Whether the fill creates the files; otherwise an actor does.
    pub(crate) filled: bool,
    /// Whether the fill stamps the data.
    pub(crate) stamped: Option<Formula>,
    pub(crate) names: NamesRecipe,
}

/// The file names of a set.
#[derive(Debug, Clone)]
pub(crate) struct NamesRecipe {
    pub(crate) scheme: Scheme,
    pub(crate) name_bytes: Option<Formula>,
    pub(crate) random_bytes: Option<Formula>,
    pub(crate) subdirectories: Option<Formula>,
    pub(crate) items: Option<ItemTreeRecipe>,
}

/// The tree of directories of a set with names as in mdtest.
#[derive(Debug, Clone)]
pub(crate) struct ItemTreeRecipe {
    pub(crate) ranks: Formula,
    /// Items of a rank.
    pub(crate) items: Formula,
    /// The same for each directory; it goes before `items`.
    pub(crate) per_directory: Option<Formula>,
    pub(crate) iterations: Option<Formula>,
    pub(crate) unique: Option<Formula>,
    pub(crate) depth: Option<Formula>,
    pub(crate) branch: Option<Formula>,
    pub(crate) leaves: Option<Formula>,
}

impl ItemTreeRecipe {
    /// All formulas, for the check of names.
    pub(crate) fn formulas(&self) -> impl Iterator<Item = &Formula> {
        let rest = [&self.per_directory, &self.iterations, &self.unique, &self.depth, &self.branch, &self.leaves];
        [&self.ranks, &self.items].into_iter().chain(rest.into_iter().flatten())
    }
}

/// The original whose file names a set uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    Tree,
    Maildir,
    Numbers,
    FsMark,
    Bonnie { letters_first: bool },
    Items,
}

#[derive(Debug, Clone)]
pub(crate) struct ActorRecipe {
    pub(crate) name: String,
    pub(crate) span: std::ops::Range<usize>,
    pub(crate) count: Formula,
    pub(crate) directories: Option<Formula>,
    pub(crate) holds: Option<Formula>,
    pub(crate) rate: Option<Formula>,
    pub(crate) pacing: Option<WordValue>,
    pub(crate) work: bool,
    pub(crate) phases: Option<Vec<usize>>,
    pub(crate) steps: Vec<StepRecipe>,
    /// Its job, instead of steps.
    pub(crate) job: Option<JobRecipe>,
    /// Whether each thread is a process.
    pub(crate) processes: bool,
    /// Whether a phase does not wait for its job.
    pub(crate) background: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct StepRecipe {
    pub(crate) verb: StepKind,
    pub(crate) span: std::ops::Range<usize>,
    pub(crate) class: Option<String>,
    pub(crate) fork: Option<Formula>,
    pub(crate) from: Option<usize>,
    pub(crate) size: Option<Formula>,
    pub(crate) block: Option<Formula>,
    pub(crate) duration: Option<Formula>,
    pub(crate) access: Access,
    pub(crate) sync: WriteSync,
}

impl Recipe {
    /// The file's text.
    pub fn text(&self) -> &str {
        &self.source.text
    }

    /// The variable of that name.
    pub fn variable(&self, name: &str) -> Result<&Variable, LoadError> {
        self.variables.iter().find(|variable| variable.name == name).ok_or_else(|| LoadError::NoSuchVariable {
            recipe: self.name.clone(),
            name: name.to_owned(),
            suggestion: nearest(name, self.variables.iter().map(|v| v.name.as_str())).map(str::to_owned),
        })
    }

    /// The variables whose values depend on one of `roots` (variables or facts of the machine) with these
    /// settings, without the roots.
    pub fn dependents(&self, roots: &[&str], settings: &BTreeMap<String, String>) -> Vec<String> {
        let formula = |variable: &Variable| match settings.get(&variable.name) {
            Some(text) => variable.setting(&SourceText::new("a setting", text)).ok(),
            None => Some(variable.default.clone()),
        };
        let formulas: Vec<(&str, Formula)> =
            self.variables.iter().filter_map(|variable| Some((variable.name.as_str(), formula(variable)?))).collect();
        let mut reached: Vec<&str> = roots.to_vec();
        loop {
            let follows = |(name, formula): &&(&str, Formula)| {
                let from = formula.expression.names();
                !reached.contains(name) && from.iter().any(|(from, _)| reached.contains(from))
            };
            match formulas.iter().find(follows) {
                Some((name, _)) => reached.push(name),
                None => return reached[roots.len()..].iter().map(|name| (*name).to_owned()).collect(),
            }
        }
    }
}
