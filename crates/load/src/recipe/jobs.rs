//! The jobs of a recipe file.

use super::file_sets::set_number;
use super::items::FileSetRecipe;
use super::job::{JobKey, JobKeyKind, JobRecipe, KeyValue, WordValue};
use super::job_keys::JOBS;
use super::section::Section;
use super::variable::Variable;
use crate::error::LoadError;
use crate::suggestion::nearest;
use crate::value::ValueKind;

/// Reads the table `[actor.job]`.
pub(super) fn job(
    section: Section<'_>,
    sets: &[FileSetRecipe],
    variables: &[Variable],
) -> Result<JobRecipe, LoadError> {
    let words: Vec<(&str, (&'static str, &'static [JobKey]))> =
        JOBS.iter().map(|(name, keys)| (*name, (*name, *keys))).collect();
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

fn value(
    section: &Section<'_>,
    key: &JobKey,
    sets: &[FileSetRecipe],
    variables: &[Variable],
) -> Result<Option<KeyValue>, LoadError> {
    Ok(match key.kind {
        JobKeyKind::Formula(kind) => section.formula(key.name, kind)?.map(KeyValue::Formula),
        JobKeyKind::Set => set_number(section, key.name, sets)?.map(KeyValue::Set),
        JobKeyKind::Word(words) => word(section, key.name, words, variables)?.map(KeyValue::Word),
    })
}

/// A word of a list, or `$variable` with a variable that has only such words.
pub(super) fn word(
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
        _ if variable.kind != ValueKind::Word => refuse(format!("variable '{name}' is not a word")),
        Some(word) => refuse(format!("'{key}' accepts {}, but '{name}' may be '{word}'", words.join(", "))),
        None => Ok(Some(WordValue::Variable(name.to_owned()))),
    }
}
