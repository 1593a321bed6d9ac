//! From a recipe file's TOML to a [`Recipe`].

use std::sync::Arc;

use toml::de::DeTable;

use super::file_sets::file_sets;
use super::items::{PathFlag, PhaseKind, PhaseRecipe, Recipe, RepeatRecipe};
use super::plain_name::{plain_name, short_flag};
use super::section::Section;
use super::variable::Variable;
use super::variables::variables;
use super::{actors, check};
use crate::error::LoadError;
use crate::source_text::SourceText;
use crate::value::ValueKind;

const PHASE_KINDS: [(&str, PhaseKind); 3] =
    [("fill", PhaseKind::Fill), ("warmup", PhaseKind::Warmup), ("run", PhaseKind::Run)];
const TOP: [&str; 12] = [
    "name",
    "about",
    "origin",
    "report",
    "directories",
    "log",
    "ranks",
    "variables",
    "phase",
    "repeat",
    "files",
    "actor",
];

pub(super) fn recipe(source: Arc<SourceText>) -> Result<Recipe, LoadError> {
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
        ranks: ranks(&top, &variables)?,
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

fn name(top: &Section<'_>) -> Result<String, LoadError> {
    plain_name(top, top.required_text("name")?)
}

fn report_interval(top: &Section<'_>, variables: &[Variable]) -> Result<Option<String>, LoadError> {
    let Some(report) = top.table("report")? else { return Ok(None) };
    let report = report.only(&["interval"])?;
    let Some(name) = report.text("interval")? else { return Ok(None) };
    match variables.iter().find(|variable| variable.name == name.value) {
        Some(variable) if variable.kind == ValueKind::Duration => Ok(Some(name.value)),
        Some(_) => Err(report.error(name.span, format!("variable '{}' is not a duration", name.value))),
        None => Err(report.error(name.span, format!("there is no variable '{}'", name.value))),
    }
}

fn ranks(top: &Section<'_>, variables: &[Variable]) -> Result<Option<String>, LoadError> {
    let Some(name) = top.text("ranks")? else { return Ok(None) };
    match variables.iter().find(|variable| variable.name == name.value) {
        Some(variable) if variable.kind == ValueKind::Count => Ok(Some(name.value)),
        Some(_) => Err(top.error(name.span, format!("variable '{}' is not a count", name.value))),
        None => Err(top.error(name.span, format!("there is no variable '{}'", name.value))),
    }
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
        return Err(section.error(from.span, format!("there is no phase '{}' to repeat", from.value)));
    };
    let count = section.required_formula("count", ValueKind::Count)?;
    Ok(Some(RepeatRecipe { from: number, count, until_full: section.formula("until_full", ValueKind::Flag)? }))
}

fn phases(top: &Section<'_>) -> Result<Vec<PhaseRecipe>, LoadError> {
    let mut phases: Vec<PhaseRecipe> = Vec::new();
    for section in top.tables("phase", "name")? {
        let section = section.only(&["name", "kind", "duration", "when"])?;
        let kind = section.required_word("kind", &PHASE_KINDS)?;
        let duration = section.formula("duration", ValueKind::Duration)?;
        if let (PhaseKind::Fill, Some(formula)) = (kind, &duration) {
            return Err(section.error(formula.span.clone(), "a fill ends when it is complete and has no 'duration'"));
        }
        let (name, span) = (plain_name(&section, section.required_text("name")?)?, section.span.clone());
        phases.push(PhaseRecipe { name, span, kind, duration, when: section.formula("when", ValueKind::Flag)? });
    }
    match phases.iter().any(|phase| phase.kind == PhaseKind::Run) {
        true => Ok(phases),
        false => Err(top.error(0..0, "a recipe needs at least one [[phase]] of kind 'run'")),
    }
}
