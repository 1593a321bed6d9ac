//! A job in a recipe: its keys and their values.

use std::ops::Range;

use super::section::Formula;
use crate::value::ValueKind;

/// The job of a run with --verify-after-crash.
pub(crate) const VERIFY: &str = "verify";

/// The kind of a key's value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum JobKeyKind {
    /// A formula.
    Formula(ValueKind),
    /// One of these words, or `$variable` with a variable of kind `word` that has only such words.
    Word(&'static [&'static str]),
    /// The name of a file set.
    Set,
}

/// A key that a job knows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JobKey {
    pub(crate) name: &'static str,
    pub(crate) kind: JobKeyKind,
    /// Whether a recipe must give it.
    pub(crate) needed: bool,
}

impl JobKey {
    /// A key that a recipe must give.
    pub(crate) const fn needed(name: &'static str, kind: JobKeyKind) -> JobKey {
        JobKey { name, kind, needed: true }
    }

    /// A key that a recipe may leave out.
    pub(crate) const fn maybe(name: &'static str, kind: JobKeyKind) -> JobKey {
        JobKey { name, kind, needed: false }
    }
}

/// A word, or the variable that holds it.
#[derive(Debug, Clone)]
pub(crate) enum WordValue {
    Literal(&'static str),
    Variable(String),
}

/// A key's value in a recipe.
#[derive(Debug, Clone)]
pub(crate) enum KeyValue {
    Formula(Formula),
    Word(WordValue),
    Set(usize),
}

/// A job as written in a recipe.
#[derive(Debug, Clone)]
pub(crate) struct JobRecipe {
    pub(crate) job: &'static str,
    pub(crate) span: Range<usize>,
    pub(crate) given: Vec<(&'static str, KeyValue)>,
}

impl JobRecipe {
    /// Whether it works on a file set.
    pub(crate) fn uses_files(&self) -> bool {
        self.given.iter().any(|(_, given)| matches!(given, KeyValue::Set(_)))
    }

    /// All formulas, for the check of names.
    pub(crate) fn formulas(&self) -> impl Iterator<Item = &Formula> {
        self.given
            .iter()
            .filter_map(|(_, given)| if let KeyValue::Formula(formula) = given { Some(formula) } else { None })
    }
}
