//! From a recipe file's TOML to a [`Recipe`].

use std::ops::Range;
use std::sync::Arc;

use toml::de::DeTable;

use super::section::{Formula, Located, Section};
use super::{
    Access, ActorRecipe, FileSetRecipe, Pacing, PhaseKind, PhaseRecipe, Recipe, StepRecipe, Sync, Variable, Verb,
};
use crate::error::LoadError;
use crate::facts;
use crate::source::{Source, nearest};
use crate::value::{Dimension, Kind};

const VERBS: [(&str, Verb); 9] = [
    ("read", Verb::Read),
    ("write", Verb::Write),
    ("create", Verb::Create),
    ("fsync", Verb::Fsync),
    ("allocate", Verb::Allocate),
    ("touch", Verb::Touch),
    ("burn", Verb::Burn),
    ("walk", Verb::Walk),
    ("pause", Verb::Pause),
];
const PHASE_KINDS: [(&str, PhaseKind); 3] =
    [("fill", PhaseKind::Fill), ("warmup", PhaseKind::Warmup), ("run", PhaseKind::Run)];
const ACCESSES: [(&str, Access); 2] = [("random", Access::Random), ("sequential", Access::Sequential)];
const SYNCS: [(&str, Sync); 3] = [("none", Sync::None), ("fdatasync", Sync::Fdatasync), ("fsync", Sync::Fsync)];
const PACINGS: [(&str, Pacing); 2] = [("fixed", Pacing::Fixed), ("poisson", Pacing::Poisson)];
const TOP: [&str; 8] = ["name", "about", "origin", "report", "variables", "phase", "files", "actor"];
const VARIABLE: [&str; 8] = ["default", "help", "kind", "flag", "short", "plain", "min", "max"];
const ACTOR: [&str; 9] = ["name", "count", "directories", "holds", "rate", "pacing", "work", "phases", "step"];

/// The keys of a step, by its verb; `do` and, where the verb can be timed, `class` come on top.
fn step_keys(verb: Verb) -> &'static [&'static str] {
    match verb {
        Verb::Read => &["do", "class", "from", "size", "block", "at", "fork"],
        Verb::Write => &["do", "class", "from", "size", "block", "at", "fork", "sync"],
        Verb::Create => &["do", "class", "from", "block", "fork", "sync"],
        Verb::Fsync | Verb::Touch => &["do", "class"],
        Verb::Allocate => &["do", "class", "size"],
        Verb::Burn | Verb::Pause => &["do", "class", "duration"],
        Verb::Walk => &["do", "class", "from"],
    }
}

/// What a step's operations are called when the recipe does not say; `None`: they are not timed.
fn usual_class(verb: Verb) -> Option<&'static str> {
    match verb {
        Verb::Read => Some("read"),
        Verb::Write => Some("write"),
        Verb::Create => Some("create"),
        Verb::Fsync => Some("fsync"),
        Verb::Allocate => Some("allocation"),
        Verb::Walk => Some("walk"),
        Verb::Touch | Verb::Burn | Verb::Pause => None,
    }
}

pub(super) fn recipe(source: Arc<Source>) -> Result<Recipe, LoadError> {
    let document = DeTable::parse(&source.text).map_err(|error| {
        let message = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
        source.diagnostic(error.span().unwrap_or(0..0), message)
    })?;
    let top = Section::new(&source, "the recipe".to_owned(), document.get_ref(), 0..0).only(&TOP)?;
    let variables = variables(&top)?;
    let phases = phases(&top)?;
    let file_sets = file_sets(&top)?;
    let actors = actors(&top, &phases, &file_sets)?;
    let recipe = Recipe {
        name: name(&top)?,
        about: top.required_text("about")?.value,
        origin: top.text("origin")?.map(|origin| origin.value).unwrap_or_default(),
        report_interval: report_interval(&top, &variables)?,
        variables,
        phases,
        file_sets,
        actors,
        source: Arc::clone(&source),
    };
    check_names(&recipe)?;
    check_steps(&recipe)?;
    Ok(recipe)
}

/// A name that can be part of a path and of a flag.
fn is_plain_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.len() <= 48
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

fn plain_name(section: &Section<'_>, name: Located<String>) -> Result<String, LoadError> {
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
    Ok(Variable {
        flag,
        short: short_flag(section)?,
        help: section.required_text("help")?.value,
        plain: plain_unit(section, kind)?,
        default: section.required_formula("default", kind)?,
        min: section.formula("min", kind)?,
        max: section.formula("max", kind)?,
        kind,
        name,
    })
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
        let section = section.only(&["name", "kind", "duration"])?;
        let kind = section.required_word("kind", &PHASE_KINDS)?;
        let duration = section.formula("duration", Kind::Duration)?;
        match (kind, &duration) {
            (PhaseKind::Fill, Some(formula)) => {
                return Err(
                    section.error(formula.span.clone(), "a fill ends when it is complete and has no 'duration'")
                );
            }
            (PhaseKind::Warmup | PhaseKind::Run, None) => {
                return Err(section.error(section.span.clone(), format!("{} needs 'duration'", section.what)));
            }
            _ => {}
        }
        phases.push(PhaseRecipe { name: plain_name(&section, section.required_text("name")?)?, kind, duration });
    }
    match phases.iter().any(|phase| phase.kind == PhaseKind::Run) {
        true => Ok(phases),
        false => Err(top.error(0..0, "a recipe needs at least one [[phase]] of kind 'run'")),
    }
}

fn file_sets(top: &Section<'_>) -> Result<Vec<FileSetRecipe>, LoadError> {
    let read = |(name, section): (Located<String>, Section<'_>)| {
        let section = section.only(&["count", "size"])?;
        let count = section.required_formula("count", Kind::Count)?;
        let size = section.required_formula("size", Kind::Size)?;
        Ok(FileSetRecipe { name: plain_name(&section, name)?, count, size })
    };
    top.named_tables("files", "file set")?.into_iter().map(read).collect()
}

fn actors(
    top: &Section<'_>,
    phases: &[PhaseRecipe],
    file_sets: &[FileSetRecipe],
) -> Result<Vec<ActorRecipe>, LoadError> {
    let sections = top.tables("actor", "name")?;
    if sections.is_empty() {
        return Err(top.error(0..0, "a recipe needs at least one [[actor]]"));
    }
    sections.into_iter().map(|section| actor(section, phases, file_sets)).collect()
}

fn actor(section: Section<'_>, phases: &[PhaseRecipe], file_sets: &[FileSetRecipe]) -> Result<ActorRecipe, LoadError> {
    let section = section.only(&ACTOR)?;
    let steps = section.tables("step", "do")?;
    if steps.is_empty() {
        return Err(section.error(section.span.clone(), format!("{} needs at least one [[actor.step]]", section.what)));
    }
    let rate = section.formula("rate", Kind::Number)?;
    let pacing = section.word("pacing", &PACINGS)?;
    if let (None, Some(_)) = (&rate, pacing) {
        return Err(section.error(section.span.clone(), format!("'pacing' of {} needs 'rate'", section.what)));
    }
    Ok(ActorRecipe {
        name: plain_name(&section, section.required_text("name")?)?,
        span: section.span.clone(),
        count: section.required_formula("count", Kind::Count)?,
        directories: section.formula("directories", Kind::Count)?,
        holds: section.formula("holds", Kind::Size)?,
        rate,
        pacing: pacing.unwrap_or(Pacing::Fixed),
        work: section.flag("work")?,
        phases: section.texts("phases")?.map(|names| phase_numbers(&section, names, phases)).transpose()?,
        steps: steps.into_iter().map(|step| self::step(step, file_sets)).collect::<Result<_, _>>()?,
    })
}

fn phase_numbers(
    section: &Section<'_>,
    names: Vec<Located<String>>,
    phases: &[PhaseRecipe],
) -> Result<Vec<usize>, LoadError> {
    let number = |name: Located<String>| {
        let unknown = || section.error(name.span.clone(), format!("there is no phase '{}'", name.value));
        phases.iter().position(|phase| phase.name == name.value).ok_or_else(unknown)
    };
    names.into_iter().map(number).collect()
}

fn step(section: Section<'_>, file_sets: &[FileSetRecipe]) -> Result<StepRecipe, LoadError> {
    let verb = section.required_word("do", &VERBS)?;
    let section = section.only(step_keys(verb))?;
    let needed = |key: &str, needs: bool, there: bool| match needs && !there {
        true => Err(section.error(section.span.clone(), format!("{} needs '{key}'", section.what))),
        false => Ok(()),
    };
    let step = StepRecipe {
        verb,
        span: section.span.clone(),
        class: class(&section, verb)?,
        fork: section.formula("fork", Kind::Count)?,
        from: from(&section, file_sets)?,
        size: section.formula("size", Kind::Size)?,
        block: section.formula("block", Kind::Size)?,
        duration: section.formula("duration", Kind::Duration)?,
        access: section.word("at", &ACCESSES)?.unwrap_or(Access::Random),
        sync: section.word("sync", &SYNCS)?.unwrap_or(Sync::None),
    };
    needed("from", matches!(verb, Verb::Read | Verb::Write | Verb::Create), step.from.is_some())?;
    needed("size", verb == Verb::Allocate, step.size.is_some())?;
    needed("duration", matches!(verb, Verb::Burn | Verb::Pause), step.duration.is_some())?;
    Ok(step)
}

fn class(section: &Section<'_>, verb: Verb) -> Result<Option<String>, LoadError> {
    match section.text("class")? {
        Some(class) => plain_name(section, class).map(Some),
        None => Ok(usual_class(verb).map(str::to_owned)),
    }
}

fn from(section: &Section<'_>, file_sets: &[FileSetRecipe]) -> Result<Option<usize>, LoadError> {
    let Some(name) = section.text("from")? else { return Ok(None) };
    let found = file_sets.iter().position(|set| set.name == name.value);
    let remedy = || match nearest(&name.value, file_sets.iter().map(|set| set.name.as_str())) {
        Some(near) => format!("; did you mean '{near}'?"),
        None => format!("; define it under [files.{}]", name.value),
    };
    found
        .map(Some)
        .ok_or_else(|| section.error(name.span.clone(), format!("there is no file set '{}'{}", name.value, remedy())))
}

/// Steps that could never do anything.
fn check_steps(recipe: &Recipe) -> Result<(), LoadError> {
    let fills = recipe.phases.iter().any(|phase| phase.kind == PhaseKind::Fill);
    for actor in &recipe.actors {
        let moves = |step: &StepRecipe| matches!(step.verb, Verb::Read | Verb::Write | Verb::Create);
        for step in &actor.steps {
            let why = match step.verb {
                Verb::Touch if actor.holds.is_none() => "there is nothing to touch: the actor has no 'holds'",
                Verb::Fsync if !actor.steps.iter().any(moves) => "there is nothing to fsync: no step uses a file",
                _ if moves(step) && !fills => "the files are never made: there is no [[phase]] of kind 'fill'",
                _ => continue,
            };
            return Err(recipe.source.diagnostic(step.span.clone(), why).into());
        }
    }
    Ok(())
}

/// Every name in every formula must be a variable or a fact.
fn check_names(recipe: &Recipe) -> Result<(), LoadError> {
    let known = |name: &str| facts::NAMES.contains(&name) || recipe.variables.iter().any(|v| v.name == name);
    for formula in formulas(recipe) {
        if let Some((name, span)) = formula.expression.names().into_iter().find(|(name, _)| !known(name)) {
            return Err(unknown_name(recipe, &recipe.source, formula, name, span));
        }
    }
    Ok(())
}

/// The error for a name that is neither a variable nor a fact.
pub(crate) fn unknown_name(
    recipe: &Recipe,
    source: &Source,
    formula: &Formula,
    name: &str,
    span: Range<usize>,
) -> LoadError {
    let names = recipe.variables.iter().map(|v| v.name.as_str()).chain(facts::NAMES);
    let remedy = match nearest(name, names) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("facts of the machine are {}", facts::NAMES.join(", ")),
    };
    let message = format!("'{name}' is neither a variable nor a fact of the machine; {remedy}");
    formula.mistake(source, crate::expression::Mistake { span, message }).into()
}

fn formulas(recipe: &Recipe) -> impl Iterator<Item = &Formula> {
    let variables = recipe.variables.iter().flat_map(|v| [Some(&v.default), v.min.as_ref(), v.max.as_ref()]);
    let phases = recipe.phases.iter().map(|phase| phase.duration.as_ref());
    let sets = recipe.file_sets.iter().flat_map(|set| [Some(&set.count), Some(&set.size)]);
    let actors = recipe
        .actors
        .iter()
        .flat_map(|actor| [Some(&actor.count), actor.directories.as_ref(), actor.holds.as_ref(), actor.rate.as_ref()]);
    let steps = recipe
        .actors
        .iter()
        .flat_map(|actor| &actor.steps)
        .flat_map(|step| [step.fork.as_ref(), step.size.as_ref(), step.block.as_ref(), step.duration.as_ref()]);
    variables.chain(phases).chain(sets).chain(actors).chain(steps).flatten()
}
