//! Resolves a recipe, facts and settings to a plan.

use model::operation::ROUND;

use super::actor::{Actor, FileTransfer, RoundStep, StepWork, TransferDirection};
use super::definition::Plan;
use super::scope::Scope;
use super::totals::PlanTotals;
use super::{file_names, fit};
use crate::data::{FileId, FileNames, FileSet, directory_name};
use crate::error::LoadError;
use crate::facts::MachineFacts;
use crate::job::{Job, JobResolver, JobValues};
use crate::recipe::{
    ActorRecipe, FileSetRecipe, Formula, Pacing, PhaseKind, PhaseRecipe, Recipe, StepKind, StepRecipe, VERIFY,
    WordValue,
};
use crate::schedule::{PlanPhase, Repeat};
use crate::value::ValueKind;

/// Maximum size of a system call; larger ones would delay a stop.
const MAX_BLOCK_BYTES: u64 = 16 << 20;
/// Default size of a system call.
const USUAL_BLOCK_BYTES: u64 = 1 << 20;
/// Maximum classes of a plan; each has histograms on the board.
const MAX_CLASSES: usize = 16;
const MAX_THREADS: u64 = 1 << 20;
const USUAL_REPORT_INTERVAL_NS: u64 = 1_000_000_000;

/// The user's request.
#[derive(Debug, Clone, Default)]
pub struct PlanRequest {
    /// Names of variables and the text of their values.
    pub settings: Vec<(String, String)>,
    /// Seed of random choices.
    pub seed: u64,
    /// Threshold of slow and stuck operations.
    pub slower_than_ns: u64,
    /// Report interval, unless the recipe has a variable for it.
    pub report_interval_ns: Option<u64>,
    /// Ignore the free space check.
    pub force: bool,
    /// Only read back what an interrupted run had written: run the verifying phases only.
    pub after_crash: bool,
}

struct Resolver<'a> {
    recipe: &'a Recipe,
    facts: &'a MachineFacts,
    scope: Scope<'a>,
    seed: u64,
    sets: Vec<FileSet>,
    classes: Vec<String>,
    /// The phases to run, by their index in the recipe.
    kept: Vec<usize>,
}

impl Plan {
    /// Resolves a recipe. Errors are mistakes of the recipe or of a setting; limits of the machine are in
    /// [`Plan::refusals`].
    pub fn resolve(recipe: &Recipe, facts: &MachineFacts, request: &PlanRequest) -> Result<Plan, LoadError> {
        let scope = Scope::new(recipe, facts, &request.settings)?;
        let (sets, classes, kept) = (Vec::new(), Vec::new(), Vec::new());
        let mut resolver = Resolver { recipe, facts, scope, seed: request.seed, sets, classes, kept };
        let variables = resolver.variables()?;
        resolver.sets = resolver.file_sets()?;
        resolver.kept = resolver.kept(request.after_crash)?;
        let phases = resolver.phases()?;
        let repeat = resolver.repeat()?;
        let words = resolver.words()?;
        let actors = recipe.actors.iter().map(|actor| resolver.actor(actor)).collect::<Result<Vec<_>, _>>()?;
        let mut plan = Plan {
            recipe: recipe.name.clone(),
            report_interval_ns: resolver.report_interval_ns(request)?,
            variables,
            seed: request.seed,
            slower_than_ns: request.slower_than_ns,
            cpus: facts.cpus,
            ledger: None,
            after_crash: request.after_crash,
            directories: facts.directories.iter().map(|directory| directory.path.clone()).collect(),
            data_directories: data_directories(recipe, facts),
            phases,
            repeat,
            words,
            file_sets: resolver.sets,
            actors,
            classes: resolver.classes,
            totals: PlanTotals::default(),
            refusals: Vec::new(),
            placement: None,
        };
        fit::add_up(&mut plan, facts, request.force || request.after_crash);
        Ok(plan)
    }
}

fn data_directories(recipe: &Recipe, facts: &MachineFacts) -> Vec<std::path::PathBuf> {
    facts.directories.iter().map(|directory| directory.path.join(directory_name(&recipe.name))).collect()
}

impl<'a> Resolver<'a> {
    fn variables(&self) -> Result<Vec<(String, f64)>, LoadError> {
        let value = |variable| self.scope.variable(variable).map(|value| value.amount);
        self.recipe.variables.iter().map(|v| Ok((v.name.clone(), value(v)?))).collect()
    }

    fn report_interval_ns(&self, request: &PlanRequest) -> Result<u64, LoadError> {
        let usual = request.report_interval_ns.unwrap_or(USUAL_REPORT_INTERVAL_NS);
        let Some(name) = &self.recipe.report_interval else { return Ok(usual) };
        let variable = self.recipe.variable(name)?;
        let interval = self.scope.variable(variable)?.amount as u64;
        match interval >= 1_000_000 {
            true => Ok(interval),
            false => Err(self.scope.refuse(&variable.default, format!("'{name}' must be at least 1 ms"))),
        }
    }

    fn kept(&self, after_crash: bool) -> Result<Vec<usize>, LoadError> {
        if after_crash {
            return self.verifying();
        }
        let mut kept = Vec::new();
        for (number, phase) in self.recipe.phases.iter().enumerate() {
            let what = format!("'when' of phase '{}'", phase.name);
            let when = phase.when.as_ref().map(|formula| self.scope.value(formula, &what)).transpose()?;
            if when.is_none_or(|set| set != 0.0) {
                kept.push(number);
            }
        }
        let has = |kind: PhaseKind| kept.iter().any(|number| self.recipe.phases[*number].kind == kind);
        let refuse = |why: &str| Err(self.refuse_at(0..0, why.to_owned()));
        if !has(PhaseKind::Run) {
            return refuse("these settings skip every phase");
        }
        if !self.recipe.file_sets.is_empty() && !has(PhaseKind::Fill) {
            // Data without a marker is never removed.
            return refuse(
                "a recipe with files needs a [[phase]] of kind 'fill', even if jobs create them: it writes the marker",
            );
        }
        Ok(kept)
    }

    /// The verifying phases, which are all phases of a run after a crash.
    fn verifying(&self) -> Result<Vec<usize>, LoadError> {
        let verifies = |actor: &ActorRecipe| actor.job.as_ref().is_some_and(|job| job.job == VERIFY);
        let verifiers = || self.recipe.actors.iter().filter(|actor| verifies(actor));
        let is_one = |phase: &usize| verifiers().any(|a| a.phases.as_ref().is_none_or(|phases| phases.contains(phase)));
        let is_fill = |phase: &usize| self.recipe.phases[*phase].kind == PhaseKind::Fill;
        let phases: Vec<usize> =
            (0..self.recipe.phases.len()).filter(|phase| is_one(phase) && !is_fill(phase)).collect();
        match phases.is_empty() {
            true => Err(LoadError::NothingToVerify { recipe: self.recipe.name.clone() }),
            false => Ok(phases),
        }
    }

    fn phases(&self) -> Result<Vec<PlanPhase>, LoadError> {
        let resolve = |phase: &PhaseRecipe| {
            let what = format!("duration of phase '{}'", phase.name);
            let duration = phase.duration.as_ref().map(|formula| self.scope.whole(formula, &what, 0));
            Ok(PlanPhase { name: phase.name.clone(), kind: phase.kind, duration_ns: duration.transpose()? })
        };
        self.kept.iter().map(|number| resolve(&self.recipe.phases[*number])).collect()
    }

    fn repeat(&self) -> Result<Option<Repeat>, LoadError> {
        let Some(repeat) = &self.recipe.repeat else { return Ok(None) };
        let times = self.scope.whole(&repeat.count, "how often to repeat", 1)?;
        let until_full =
            repeat.until_full.as_ref().map(|formula| self.scope.value(formula, "until_full")).transpose()?;
        let from = self.kept.iter().position(|number| *number >= repeat.from);
        let until_full = until_full.is_some_and(|set| set != 0.0);
        Ok(from.map(|from| Repeat { from, times, until_full }))
    }

    fn words(&self) -> Result<Vec<(String, String)>, LoadError> {
        let words = self.recipe.variables.iter().filter(|variable| variable.kind == ValueKind::Word);
        words.map(|variable| Ok((variable.name.clone(), self.word(&variable.name)?))).collect()
    }

    fn file_sets(&self) -> Result<Vec<FileSet>, LoadError> {
        let all_steps = || self.recipe.actors.iter().flat_map(|actor| &actor.steps);
        let resolve = |(number, set): (usize, &FileSetRecipe)| {
            let files = self.scope.whole(&set.count, &format!("number of files in '{}'", set.name), 1)?;
            if files > FileId::MAX_FILES || number >= FileId::MAX_SETS {
                return Err(self.scope.refuse(&set.count, "more files than supported"));
            }
            let least = u64::from(set.filled);
            let size_bytes = self.scope.whole(&set.size, &format!("size of the files in '{}'", set.name), least)?;
            let replaced = all_steps().any(|step| step.verb == StepKind::Create && step.from == Some(number));
            let names = file_names::resolve(&self.scope, set, files, self.seed)?;
            // The tree decides how many items a rank really has.
            let files = if let FileNames::Items(tree) = &names { tree.all(files) } else { files };
            let stamped = set.stamped.as_ref().map(|flag| self.scope.value(flag, "'stamped'")).transpose()?;
            let stamped = stamped.is_some_and(|stamped| stamped != 0.0);
            Ok(FileSet { name: set.name.clone(), files, size_bytes, replaced, filled: set.filled, stamped, names })
        };
        self.recipe.file_sets.iter().enumerate().map(resolve).collect()
    }

    fn class(&mut self, name: &str, span: &std::ops::Range<usize>) -> Result<usize, LoadError> {
        if let Some(index) = self.classes.iter().position(|class| class == name) {
            return Ok(index);
        }
        if self.classes.len() == MAX_CLASSES {
            let message = format!("more than {MAX_CLASSES} classes of operations");
            return Err(self.recipe.source.diagnostic(span.clone(), message).into());
        }
        self.classes.push(name.to_owned());
        Ok(self.classes.len() - 1)
    }

    fn actor(&mut self, actor: &ActorRecipe) -> Result<Actor, LoadError> {
        let named = |what: &str| format!("{what} of actor '{}'", actor.name);
        let scope = &self.scope;
        let threads = scope.whole(&actor.count, &named("count"), 0)?;
        if threads > MAX_THREADS {
            return Err(scope.refuse(&actor.count, format!("{} is {threads}, more than {MAX_THREADS}", named("count"))));
        }
        let directories = match &actor.directories {
            Some(formula) => scope.whole(formula, &named("directories"), u64::from(threads > 0))? as usize,
            None => self.facts.directories.len(),
        };
        let directories = directories.min(self.facts.directories.len());
        let holds_bytes = actor.holds.as_ref().map(|formula| scope.whole(formula, &named("holds"), 0)).transpose()?;
        let steps = actor.steps.iter().map(|step| self.step(step)).collect::<Result<Vec<_>, _>>()?;
        let round_class = if actor.work { Some(self.class(ROUND, &actor.span)?) } else { None };
        let in_phase = |phase: usize| {
            let chosen = actor.phases.as_ref().is_none_or(|phases| phases.contains(&phase));
            chosen && self.recipe.phases[phase].kind != PhaseKind::Fill
        };
        Ok(Actor {
            name: actor.name.clone(),
            threads,
            directories,
            holds_bytes: holds_bytes.unwrap_or(0),
            rate_per_s: self.rate(actor)?,
            pacing: self.pacing(actor)?,
            round_class,
            in_phase: self.kept.iter().map(|number| in_phase(*number)).collect(),
            steps,
            job: actor
                .job
                .as_ref()
                .map(|job| Job::resolve(&mut JobValues::new(job, actor, (threads, directories), self)))
                .transpose()?,
            processes: actor.processes,
            background: actor.background,
        })
    }

    fn rate(&self, actor: &ActorRecipe) -> Result<Option<f64>, LoadError> {
        let Some(formula) = &actor.rate else { return Ok(None) };
        let what = format!("rate of actor '{}'", actor.name);
        let rate = self.scope.value(formula, &what)?;
        match (1e-6..=1e9).contains(&rate) {
            true => Ok(Some(rate)),
            false if rate == 0.0 => Ok(None),
            false => Err(self.scope.refuse(formula, format!("{what} is {rate} rounds per second"))),
        }
    }

    fn pacing(&self, actor: &ActorRecipe) -> Result<Pacing, LoadError> {
        let word = match &actor.pacing {
            Some(WordValue::Variable(name)) => self.word(name)?,
            Some(WordValue::Literal(word)) => (*word).to_owned(),
            None => String::new(),
        };
        Ok(if word == "poisson" { Pacing::Poisson } else { Pacing::Fixed })
    }

    fn step(&mut self, step: &StepRecipe) -> Result<RoundStep, LoadError> {
        let class = match &step.class {
            Some(name) => Some(self.class(name, &step.span)?),
            None => None,
        };
        let duration_ns = || {
            let formula = step.duration.as_ref().expect("checked when the recipe was read");
            self.scope.whole(formula, "duration of a step", 0)
        };
        let work = match step.verb {
            StepKind::Read => StepWork::Transfer(self.transfer(step, TransferDirection::Read)?),
            StepKind::Write => StepWork::Transfer(self.transfer(step, TransferDirection::Write)?),
            StepKind::Create => StepWork::Transfer(self.transfer(step, TransferDirection::Create)?),
            StepKind::Fsync => StepWork::Fsync,
            StepKind::Touch => StepWork::Touch,
            StepKind::Walk => StepWork::Walk { set: step.from },
            StepKind::Burn => StepWork::Burn { duration_ns: duration_ns()? },
            StepKind::Pause => StepWork::Pause { duration_ns: duration_ns()? },
            StepKind::Allocate => {
                let formula = step.size.as_ref().expect("checked when the recipe was read");
                StepWork::Allocate { bytes: self.scope.whole(formula, "size of an allocation", 1)? }
            }
        };
        Ok(RoundStep { class, work })
    }

    fn transfer(&self, step: &StepRecipe, direction: TransferDirection) -> Result<FileTransfer, LoadError> {
        let set = step.from.expect("checked when the recipe was read");
        let file = &self.sets[set];
        let bytes = match &step.size {
            Some(formula) => self.scope.whole(formula, "size of a transfer", 1)?,
            None => file.size_bytes,
        };
        if let (Some(formula), true) = (&step.size, bytes > file.size_bytes) {
            let message =
                format!("a transfer of {bytes} bytes from files of {} bytes ('{}')", file.size_bytes, file.name);
            return Err(self.scope.refuse(formula, message));
        }
        let block_bytes = match &step.block {
            Some(formula) => match self.scope.whole(formula, "block", 1)? {
                block if block <= MAX_BLOCK_BYTES => block.min(bytes),
                _ => return Err(self.scope.refuse(formula, format!("a block is at most {MAX_BLOCK_BYTES} bytes"))),
            },
            None => bytes.min(USUAL_BLOCK_BYTES),
        };
        let fork = step.fork.as_ref().map(|formula| self.scope.whole(formula, "fork", 1)).transpose()?;
        if let (Some(formula), Some(MAX_THREADS..)) = (&step.fork, fork) {
            return Err(self.scope.refuse(formula, format!("fork is at most {MAX_THREADS}")));
        }
        Ok(FileTransfer { direction, set, bytes, block_bytes, access: step.access, sync: step.sync, fork })
    }
}

impl JobResolver for Resolver<'_> {
    fn value(&self, formula: &Formula, what: &str) -> Result<f64, LoadError> {
        self.scope.value(formula, what)
    }

    fn word(&self, variable: &str) -> Result<String, LoadError> {
        let variable = self.recipe.variable(variable)?;
        let place = self.scope.variable(variable)?.amount as usize;
        Ok(variable.words.get(place).cloned().unwrap_or_default())
    }

    fn refuse(&self, formula: &Formula, message: String) -> LoadError {
        self.scope.refuse(formula, message)
    }

    fn refuse_at(&self, span: std::ops::Range<usize>, message: String) -> LoadError {
        self.recipe.source.diagnostic(span, message).into()
    }

    fn class(&mut self, name: &str, span: std::ops::Range<usize>) -> Result<usize, LoadError> {
        Resolver::class(self, name, &span)
    }

    fn sets(&self) -> &[FileSet] {
        &self.sets
    }

    fn may_drop_caches(&self) -> bool {
        self.facts.may_drop_caches
    }
}
