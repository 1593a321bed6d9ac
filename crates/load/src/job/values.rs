//! The values of a job's keys, as numbers and words.

use crate::data::FileSet;
use crate::error::LoadError;
use crate::recipe::{ActorRecipe, Formula, JobRecipe, KeyValue, WordValue};

/// Resolves formulas, words and classes; the plan implements it.
pub(crate) trait JobResolver {
    /// Value of a formula of the recipe; `what` names it in messages.
    fn value(&self, formula: &Formula, what: &str) -> Result<f64, LoadError>;
    /// The word of a variable.
    fn word(&self, variable: &str) -> Result<String, LoadError>;
    /// An error at a formula, or at the flag that set it.
    fn refuse(&self, formula: &Formula, message: String) -> LoadError;
    /// An error at a location in the recipe.
    fn refuse_at(&self, span: std::ops::Range<usize>, message: String) -> LoadError;
    /// Index of an operation class, which is added if it is new.
    fn class(&mut self, name: &str, span: std::ops::Range<usize>) -> Result<usize, LoadError>;
    /// The file sets.
    fn sets(&self) -> &[FileSet];
    /// Whether the load may drop the machine's caches.
    fn may_drop_caches(&self) -> bool;
}

/// The values of a job's keys.
pub(crate) struct JobValues<'a, 'r> {
    recipe: &'r JobRecipe,
    source: &'a mut dyn JobResolver,
    actor: &'r ActorRecipe,
    threads: u64,
    directories: usize,
}

impl<'a, 'r> JobValues<'a, 'r> {
    /// The values of an actor's job, with the actor's number of threads and directories.
    pub(crate) fn new(
        recipe: &'r JobRecipe,
        actor: &'r ActorRecipe,
        (threads, directories): (u64, usize),
        source: &'a mut dyn JobResolver,
    ) -> JobValues<'a, 'r> {
        JobValues { recipe, source, actor, threads, directories }
    }

    /// Threads per directory; an error if they do not divide evenly.
    pub(crate) fn threads_per_directory(&self) -> Result<u64, LoadError> {
        let (threads, directories) = (self.threads, self.directories.max(1) as u64);
        if threads.is_multiple_of(directories) {
            return Ok(threads / directories);
        }
        let why = format!("{threads} threads do not divide evenly among {directories} directories: use a multiple");
        Err(self.source.refuse(&self.actor.count, why))
    }

    /// The job's name.
    pub(crate) fn job(&self) -> &'static str {
        self.recipe.job
    }

    fn given(&self, key: &str) -> Option<&'r KeyValue> {
        self.recipe.given.iter().find(|(name, _)| *name == key).map(|(_, given)| given)
    }

    fn formula(&self, key: &str) -> Option<&'r Formula> {
        match self.given(key)? {
            KeyValue::Formula(formula) => Some(formula),
            _ => None,
        }
    }

    /// The number of a key, in base units; `None`: not given.
    pub(crate) fn number(&self, key: &str) -> Result<Option<f64>, LoadError> {
        let Some(formula) = self.formula(key) else { return Ok(None) };
        self.source.value(formula, &format!("'{key}' of actor '{}'", self.actor.name)).map(Some)
    }

    /// Like [`JobValues::number`], as a whole number.
    pub(crate) fn whole(&self, key: &str) -> Result<Option<u64>, LoadError> {
        self.number(key).map(|number| number.map(|number| number as u64))
    }

    /// A whole number of at least `least`; the default is `usual`.
    pub(crate) fn whole_or(&self, key: &str, usual: u64, least: u64) -> Result<u64, LoadError> {
        let value = self.whole(key)?.unwrap_or(usual);
        match value >= least {
            true => Ok(value),
            false => Err(self.refuse(key, format!("'{key}' is {value}; it must be at least {least}"))),
        }
    }

    /// Whether a flag is set; the default is no.
    pub(crate) fn flag(&self, key: &str) -> Result<bool, LoadError> {
        self.number(key).map(|number| number.is_some_and(|number| number != 0.0))
    }

    /// A word of the key's list; `None`: not given.
    pub(crate) fn word(&self, key: &str) -> Result<Option<String>, LoadError> {
        match self.given(key) {
            Some(KeyValue::Word(WordValue::Literal(word))) => Ok(Some((*word).to_owned())),
            Some(KeyValue::Word(WordValue::Variable(name))) => self.source.word(name).map(Some),
            _ => Ok(None),
        }
    }

    /// Index of a file set.
    pub(crate) fn set(&self, key: &str) -> Option<usize> {
        match self.given(key)? {
            KeyValue::Set(set) => Some(*set),
            _ => None,
        }
    }

    /// The file sets of the plan.
    pub(crate) fn sets(&self) -> &[FileSet] {
        self.source.sets()
    }

    /// Whether the load may drop the machine's caches.
    pub(crate) fn may_drop_caches(&self) -> bool {
        self.source.may_drop_caches()
    }

    /// Index of an operation class.
    pub(crate) fn class(&mut self, name: &str) -> Result<usize, LoadError> {
        self.source.class(name, self.recipe.span.clone())
    }

    /// An error at a key's value, or at the flag that set it, or at the job.
    pub(crate) fn refuse(&self, key: &str, message: impl Into<String>) -> LoadError {
        match self.formula(key) {
            Some(formula) => self.source.refuse(formula, message.into()),
            None => self.source.refuse_at(self.recipe.span.clone(), message.into()),
        }
    }
}
