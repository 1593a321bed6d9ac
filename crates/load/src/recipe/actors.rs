//! The actors of a recipe file and their steps.

use super::file_sets::set_number;
use super::items::{Access, ActorRecipe, FileSetRecipe, PhaseRecipe, StepRecipe, Sync, Verb};
use super::jobs;
use super::plain_name::plain_name;
use super::section::{Located, Section};
use super::variable::Variable;
use crate::error::LoadError;
use crate::value::Kind;

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
const ACCESSES: [(&str, Access); 2] = [("random", Access::Random), ("sequential", Access::Sequential)];
const SYNCS: [(&str, Sync); 3] = [("none", Sync::None), ("fdatasync", Sync::Fdatasync), ("fsync", Sync::Fsync)];
const PACINGS: [&str; 2] = ["fixed", "poisson"];
const ACTOR: [&str; 12] = [
    "name",
    "count",
    "directories",
    "holds",
    "rate",
    "pacing",
    "work",
    "phases",
    "step",
    "job",
    "processes",
    "background",
];

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

pub(super) fn actors(
    top: &Section<'_>,
    phases: &[PhaseRecipe],
    file_sets: &[FileSetRecipe],
    variables: &[Variable],
) -> Result<Vec<ActorRecipe>, LoadError> {
    let sections = top.tables("actor", "name")?;
    if sections.is_empty() {
        return Err(top.error(0..0, "a recipe needs at least one [[actor]]"));
    }
    sections.into_iter().map(|section| actor(section, phases, file_sets, variables)).collect()
}

fn actor(
    section: Section<'_>,
    phases: &[PhaseRecipe],
    file_sets: &[FileSetRecipe],
    variables: &[Variable],
) -> Result<ActorRecipe, LoadError> {
    let section = section.only(&ACTOR)?;
    let steps = section.tables("step", "do")?;
    let job = section.table("job")?.map(|job| jobs::job(job, file_sets, variables)).transpose()?;
    let (processes, background) = (section.flag("processes")?, section.flag("background")?);
    let refuse = |why: &str| Err(section.error(section.span.clone(), format!("{} {why}", section.what)));
    match (steps.is_empty(), &job) {
        (true, None) => return refuse("needs at least one [[actor.step]], or an [actor.job]"),
        (false, Some(_)) => return refuse("has steps and a job; make two actors of it"),
        (false, None) if processes || background => {
            return refuse("has steps; 'processes' and 'background' need a job");
        }
        _ => {}
    }
    let rate = section.formula("rate", Kind::Number)?;
    let pacing = jobs::word(&section, "pacing", &PACINGS, variables)?;
    if let (None, Some(_)) = (&rate, &pacing) {
        return Err(section.error(section.span.clone(), format!("'pacing' of {} needs 'rate'", section.what)));
    }
    Ok(ActorRecipe {
        name: plain_name(&section, section.required_text("name")?)?,
        span: section.span.clone(),
        count: section.required_formula("count", Kind::Count)?,
        directories: section.formula("directories", Kind::Count)?,
        holds: section.formula("holds", Kind::Size)?,
        rate,
        pacing,
        work: section.flag("work")?,
        phases: section.texts("phases")?.map(|names| phase_numbers(&section, names, phases)).transpose()?,
        steps: steps.into_iter().map(|step| self::step(step, file_sets)).collect::<Result<_, _>>()?,
        job,
        processes,
        background,
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
        from: set_number(&section, "from", file_sets)?,
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
