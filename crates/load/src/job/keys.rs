//! The keys of a job in a recipe, as each job declares them.

use std::ops::Range;

use crate::error::LoadError;
use crate::recipe::{FileSetRecipe, Formula, Section, Variable, set_number};
use crate::source::nearest;
use crate::value::Kind;

/// What a key's value is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KeyKind {
    /// A formula.
    Formula(Kind),
    /// One of these words, or `$variable` with a variable of kind `word` that has only such words.
    Word(&'static [&'static str]),
    /// The name of a file set.
    Set,
}

/// A key that a job knows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) kind: KeyKind,
    /// Whether a recipe must give it.
    pub(crate) needed: bool,
}

impl Key {
    /// A key that a recipe must give.
    pub(crate) const fn needed(name: &'static str, kind: KeyKind) -> Key {
        Key { name, kind, needed: true }
    }

    /// A key that a recipe may leave out.
    pub(crate) const fn maybe(name: &'static str, kind: KeyKind) -> Key {
        Key { name, kind, needed: false }
    }
}

/// A word, or whose value it is.
#[derive(Debug, Clone)]
pub(crate) enum WordValue {
    Literal(&'static str),
    Variable(String),
}

/// A key's value in a recipe.
#[derive(Debug, Clone)]
pub(crate) enum Given {
    Formula(Formula),
    Word(WordValue),
    Set(usize),
}

/// A job as a recipe's author wrote it.
#[derive(Debug, Clone)]
pub(crate) struct JobRecipe {
    pub(crate) job: &'static str,
    pub(crate) span: Range<usize>,
    pub(crate) given: Vec<(&'static str, Given)>,
}

impl JobRecipe {
    /// Reads the table `[actor.job]`.
    pub(crate) fn read(
        section: Section<'_>,
        sets: &[FileSetRecipe],
        variables: &[Variable],
    ) -> Result<JobRecipe, LoadError> {
        let jobs = super::JOBS;
        let words: Vec<(&str, (&'static str, &'static [Key]))> =
            jobs.iter().map(|(name, keys)| (*name, (*name, *keys))).collect();
        let (job, keys) = section.required_word("do", &words)?;
        let known: Vec<&str> = std::iter::once("do").chain(keys.iter().map(|key| key.name)).collect();
        let section = section.only(&known)?;
        let mut given = Vec::new();
        for key in keys {
            match value(&section, key, sets, variables)? {
                Some(value) => given.push((key.name, value)),
                None if key.needed => return Err(section.missing(key.name)),
                None => {}
            }
        }
        Ok(JobRecipe { job, span: section.span.clone(), given })
    }

    /// Whether it works on a file set.
    pub(crate) fn uses_files(&self) -> bool {
        self.given.iter().any(|(_, given)| matches!(given, Given::Set(_)))
    }

    /// All formulas, for the check of names.
    pub(crate) fn formulas(&self) -> impl Iterator<Item = &Formula> {
        self.given
            .iter()
            .filter_map(|(_, given)| if let Given::Formula(formula) = given { Some(formula) } else { None })
    }
}

fn value(
    section: &Section<'_>,
    key: &Key,
    sets: &[FileSetRecipe],
    variables: &[Variable],
) -> Result<Option<Given>, LoadError> {
    Ok(match key.kind {
        KeyKind::Formula(kind) => section.formula(key.name, kind)?.map(Given::Formula),
        KeyKind::Set => set_number(section, key.name, sets)?.map(Given::Set),
        KeyKind::Word(words) => word(section, key.name, words, variables)?.map(Given::Word),
    })
}

/// A word of a list, or `$variable` with a variable that has only such words.
pub(crate) fn word(
    section: &Section<'_>,
    key: &str,
    words: &'static [&'static str],
    variables: &[Variable],
) -> Result<Option<WordValue>, LoadError> {
    let Some(text) = section.text(key)? else { return Ok(None) };
    let Some(name) = text.value.strip_prefix('$') else {
        let table: Vec<(&str, &'static str)> = words.iter().map(|word| (*word, *word)).collect();
        return Ok(section.word(key, &table)?.map(WordValue::Literal));
    };
    let refuse = |message: String| Err(section.error(text.span.clone(), message));
    let Some(variable) = variables.iter().find(|variable| variable.name == name) else {
        let near = nearest(name, variables.iter().map(|variable| variable.name.as_str()));
        let remedy = near.map_or_else(String::new, |near| format!("; did you mean '${near}'?"));
        return refuse(format!("there is no variable '{name}'{remedy}"));
    };
    match variable.words.iter().find(|word| !words.contains(&word.as_str())) {
        _ if variable.kind != Kind::Word => refuse(format!("variable '{name}' is not a word")),
        Some(word) => refuse(format!("'{key}' knows {}, but '{name}' may be '{word}'", words.join(", "))),
        None => Ok(Some(WordValue::Variable(name.to_owned()))),
    }
}
