//! From a recipe file's TOML to a [`Recipe`].

use std::sync::Arc;

use toml::de::DeTable;

use super::file_sets::file_sets;
use super::section::{Located, Section};
use super::{Formula, PathFlag, PhaseKind, PhaseRecipe, Recipe, RepeatRecipe, Variable, actors, check};
use crate::error::LoadError;
use crate::facts;
use crate::source::Source;
use crate::value::{Dimension, Kind};

const PHASE_KINDS: [(&str, PhaseKind); 3] =
    [("fill", PhaseKind::Fill), ("warmup", PhaseKind::Warmup), ("run", PhaseKind::Run)];
const TOP: [&str; 11] =
    ["name", "about", "origin", "report", "directories", "log", "variables", "phase", "repeat", "files", "actor"];
const VARIABLE: [&str; 10] = ["default", "help", "kind", "words", "names", "flag", "short", "plain", "min", "max"];

pub(super) fn recipe(source: Arc<Source>) -> Result<Recipe, LoadError> {
    let document = DeTable::parse(&source.text).map_err(|error| {
        let message = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
        source.diagnostic(error.span().unwrap_or(0..0), message)
    })?;
    let top = Section::new(&source, "the recipe".to_owned(), document.get_ref(), 0..0).only(&TOP)?;
    let variables = variables(&top)?;
    let phases = phases(&top)?;
    let file_sets = file_sets(&top)?;
    let actors = actors::actors(&top, &phases, &file_sets, &variables)?;
    let recipe = Recipe {
        name: name(&top)?,
        about: top.required_text("about")?.value,
        origin: top.text("origin")?.map(|origin| origin.value).unwrap_or_default(),
        report_interval: report_interval(&top, &variables)?,
        directories: path_flag(&top, "directories")?,
        log: path_flag(&top, "log")?,
        repeat: repeat(&top, &phases)?,
        variables,
        phases,
        file_sets,
        actors,
        source: Arc::clone(&source),
    };
    check::names(&recipe)?;
    check::steps(&recipe)?;
    Ok(recipe)
}

/// A name that can be part of a path and of a flag.
fn is_plain_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.len() <= 48
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

pub(super) fn plain_name(section: &Section<'_>, name: Located<String>) -> Result<String, LoadError> {
    if is_plain_name(&name.value) {
        return Ok(name.value);
    }
    let message =
        format!("'{}' cannot be a name: write a letter, then letters, digits, - or _ (at most 48)", name.value);
    Err(section.error(name.span, message))
}

fn name(top: &Section<'_>) -> Result<String, LoadError> {
    plain_name(top, top.required_text("name")?)
}

fn report_interval(top: &Section<'_>, variables: &[Variable]) -> Result<Option<String>, LoadError> {
    let Some(report) = top.table("report")? else { return Ok(None) };
    let report = report.only(&["interval"])?;
    let Some(name) = report.text("interval")? else { return Ok(None) };
    match variables.iter().find(|variable| variable.name == name.value) {
        Some(variable) if variable.kind == Kind::Duration => Ok(Some(name.value)),
        Some(_) => Err(report.error(name.span, format!("variable '{}' is not a duration", name.value))),
        None => Err(report.error(name.span, format!("there is no variable '{}'", name.value))),
    }
}

fn variables(top: &Section<'_>) -> Result<Vec<Variable>, LoadError> {
    let kinds = Kind::ALL.map(|kind| (kind.name(), kind));
    let mut variables: Vec<Variable> = Vec::new();
    for (name, section) in top.named_tables("variables", "variable")? {
        let section = section.only(&VARIABLE)?;
        let span = name.span.clone();
        let variable = variable(&section, name, section.required_word("kind", &kinds)?)?;
        let twice = |what: String| Err(section.error(span.clone(), what));
        if let Some(other) = variables.iter().find(|other| other.flag == variable.flag) {
            return twice(format!("flag '--{}' is already that of variable '{}'", variable.flag, other.name));
        }
        if let Some(other) = variables.iter().find(|other| other.short.is_some() && other.short == variable.short) {
            return twice(format!("the short flag of '{}' is already that of '{}'", variable.name, other.name));
        }
        variables.push(variable);
    }
    Ok(variables)
}

fn variable(section: &Section<'_>, name: Located<String>, kind: Kind) -> Result<Variable, LoadError> {
    if facts::NAMES.contains(&name.value.as_str()) {
        return Err(section.error(name.span, format!("'{}' is a fact of the machine; choose another name", name.value)));
    }
    let name = plain_name(section, name)?;
    let flag = match section.text("flag")? {
        Some(flag) => plain_name(section, flag)?,
        None => name.replace('_', "-"),
    };
    let words = words(section, kind)?;
    let default = match kind {
        Kind::Word => word_formula(section, section.required_text("default")?, &words)?,
        _ => section.required_formula("default", kind)?,
    };
    Ok(Variable {
        flag,
        names: names(section, kind)?,
        words,
        short: short_flag(section)?,
        help: section.required_text("help")?.value,
        plain: plain_unit(section, kind)?,
        default,
        min: section.formula("min", kind)?,
        max: section.formula("max", kind)?,
        kind,
        name,
    })
}

fn words(section: &Section<'_>, kind: Kind) -> Result<Vec<String>, LoadError> {
    let words = section.texts("words")?;
    match (kind, words) {
        (Kind::Word, Some(words)) if !words.is_empty() => {
            words.into_iter().map(|word| plain_name(section, word)).collect()
        }
        (Kind::Word, _) => Err(section.missing("words")),
        (_, Some(_)) => Err(section.error(section.span.clone(), "only a variable of kind 'word' has 'words'")),
        (_, None) => Ok(Vec::new()),
    }
}

/// Words that stand for a value: `names = { all = "100%" }`.
fn names(section: &Section<'_>, kind: Kind) -> Result<Vec<(String, Formula)>, LoadError> {
    let Some(table) = section.table("names")? else { return Ok(Vec::new()) };
    if matches!(kind, Kind::Word | Kind::Flag) {
        return Err(section.error(table.span.clone(), "a variable of this kind cannot have 'names'"));
    }
    let named = |key: Located<String>| {
        let formula = table.required_formula(&key.value, kind)?;
        Ok((plain_name(section, key)?, formula))
    };
    table.keys().into_iter().map(named).collect()
}

/// A word as the number that formulas see: its place among the variable's words.
fn word_formula(section: &Section<'_>, text: Located<String>, words: &[String]) -> Result<Formula, LoadError> {
    let Some(place) = words.iter().position(|word| *word == text.value) else {
        let message = format!("'default' cannot be '{}'; known are {}", text.value, words.join(", "));
        return Err(section.error(text.span, message));
    };
    let formula = section.parse(&place.to_string(), Kind::Word, text.span)?;
    Ok(Formula { text: text.value, ..formula })
}

fn path_flag(top: &Section<'_>, key: &str) -> Result<Option<PathFlag>, LoadError> {
    let Some(section) = top.table(key)? else { return Ok(None) };
    let section = section.only(&["flag", "short"])?;
    let flag = plain_name(&section, section.required_text("flag")?)?;
    Ok(Some(PathFlag { flag, short: short_flag(&section)? }))
}

fn repeat(top: &Section<'_>, phases: &[PhaseRecipe]) -> Result<Option<RepeatRecipe>, LoadError> {
    let Some(section) = top.table("repeat")? else { return Ok(None) };
    let section = section.only(&["from", "count", "until_full"])?;
    let from = section.required_text("from")?;
    let Some(number) = phases.iter().position(|phase| phase.name == from.value && phase.kind != PhaseKind::Fill) else {
        return Err(section.error(from.span, format!("there is no phase '{}' that could be repeated", from.value)));
    };
    let count = section.required_formula("count", Kind::Count)?;
    Ok(Some(RepeatRecipe { from: number, count, until_full: section.formula("until_full", Kind::Flag)? }))
}

fn short_flag(section: &Section<'_>) -> Result<Option<char>, LoadError> {
    let Some(text) = section.text("short")? else { return Ok(None) };
    match text.value.chars().collect::<Vec<_>>()[..] {
        [letter] if letter.is_ascii_alphabetic() => Ok(Some(letter)),
        _ => Err(section.error(text.span, "'short' must be one letter")),
    }
}

fn plain_unit(section: &Section<'_>, kind: Kind) -> Result<Option<String>, LoadError> {
    let Some(unit) = section.text("plain")? else { return Ok(None) };
    let known = match kind.dimension() {
        Dimension::Bytes => model::quantity::size_unit(&unit.value).is_some(),
        Dimension::Nanoseconds => model::quantity::duration_unit(&unit.value).is_some(),
        Dimension::Plain => kind == Kind::Percent && unit.value == "%",
    };
    match known {
        true => Ok(Some(unit.value)),
        false => Err(section.error(unit.span, format!("'{}' is not the unit of a {}", unit.value, kind.name()))),
    }
}

fn phases(top: &Section<'_>) -> Result<Vec<PhaseRecipe>, LoadError> {
    let mut phases: Vec<PhaseRecipe> = Vec::new();
    for section in top.tables("phase", "name")? {
        let section = section.only(&["name", "kind", "duration", "when"])?;
        let kind = section.required_word("kind", &PHASE_KINDS)?;
        let duration = section.formula("duration", Kind::Duration)?;
        if let (PhaseKind::Fill, Some(formula)) = (kind, &duration) {
            return Err(section.error(formula.span.clone(), "a fill ends when it is complete and has no 'duration'"));
        }
        let (name, span) = (plain_name(&section, section.required_text("name")?)?, section.span.clone());
        phases.push(PhaseRecipe { name, span, kind, duration, when: section.formula("when", Kind::Flag)? });
    }
    match phases.iter().any(|phase| phase.kind == PhaseKind::Run) {
        true => Ok(phases),
        false => Err(top.error(0..0, "a recipe needs at least one [[phase]] of kind 'run'")),
    }
}
