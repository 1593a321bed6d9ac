//! The actors of a recipe file and their steps.

use super::file_sets::set_number;
use super::items::{Access, ActorRecipe, FileSetRecipe, PhaseRecipe, StepKind, StepRecipe, WriteSync};
use super::jobs;
use super::plain_name::plain_name;
use super::section::{LocatedText, Section};
use super::variable::Variable;
use crate::error::LoadError;
use crate::value::ValueKind;

const VERBS: [(&str, StepKind); 9] = [
    ("read", StepKind::Read),
    ("write", StepKind::Write),
    ("create", StepKind::Create),
    ("fsync", StepKind::Fsync),
    ("allocate", StepKind::Allocate),
    ("touch", StepKind::Touch),
    ("burn", StepKind::Burn),
    ("walk", StepKind::Walk),
    ("pause", StepKind::Pause),
];
const ACCESSES: [(&str, Access); 2] = [("random", Access::Random), ("sequential", Access::Sequential)];
const SYNCS: [(&str, WriteSync); 3] =
    [("none", WriteSync::None), ("fdatasync", WriteSync::Fdatasync), ("fsync", WriteSync::Fsync)];
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

/// The keys of each kind of step.
fn step_keys(verb: StepKind) -> &'static [&'static str] {
    match verb {
        StepKind::Read => &["do", "class", "from", "size", "block", "at", "fork"],
        StepKind::Write => &["do", "class", "from", "size", "block", "at", "fork", "sync"],
        StepKind::Create => &["do", "class", "from", "block", "fork", "sync"],
        StepKind::Fsync | StepKind::Touch => &["do", "class"],
        StepKind::Allocate => &["do", "class", "size"],
        StepKind::Burn | StepKind::Pause => &["do", "class", "duration"],
        StepKind::Walk => &["do", "class", "from"],
    }
}

/// The default class of a step's operations; `None`: they are not timed.
fn usual_class(verb: StepKind) -> Option<&'static str> {
    match verb {
        StepKind::Read => Some("read"),
        StepKind::Write => Some("write"),
        StepKind::Create => Some("create"),
        StepKind::Fsync => Some("fsync"),
        StepKind::Allocate => Some("allocation"),
        StepKind::Walk => Some("walk"),
        StepKind::Touch | StepKind::Burn | StepKind::Pause => None,
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
        (false, Some(_)) => return refuse("has steps and a job; split it into two actors"),
        (false, None) if processes || background => {
            return refuse("has steps; 'processes' and 'background' need a job");
        }
        _ => {}
    }
    let rate = section.formula("rate", ValueKind::Number)?;
    let pacing = jobs::word(&section, "pacing", &PACINGS, variables)?;
    if let (None, Some(_)) = (&rate, &pacing) {
        return Err(section.error(section.span.clone(), format!("'pacing' of {} needs 'rate'", section.what)));
    }
    Ok(ActorRecipe {
        name: plain_name(&section, section.required_text("name")?)?,
        span: section.span.clone(),
        count: section.required_formula("count", ValueKind::Count)?,
        directories: section.formula("directories", ValueKind::Count)?,
        holds: section.formula("holds", ValueKind::Size)?,
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
    names: Vec<LocatedText<String>>,
    phases: &[PhaseRecipe],
) -> Result<Vec<usize>, LoadError> {
    let number = |name: LocatedText<String>| {
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
        fork: section.formula("fork", ValueKind::Count)?,
        from: set_number(&section, "from", file_sets)?,
        size: section.formula("size", ValueKind::Size)?,
        block: section.formula("block", ValueKind::Size)?,
        duration: section.formula("duration", ValueKind::Duration)?,
        access: section.word("at", &ACCESSES)?.unwrap_or(Access::Random),
        sync: section.word("sync", &SYNCS)?.unwrap_or(WriteSync::None),
    };
    needed("from", matches!(verb, StepKind::Read | StepKind::Write | StepKind::Create), step.from.is_some())?;
    needed("size", verb == StepKind::Allocate, step.size.is_some())?;
    needed("duration", matches!(verb, StepKind::Burn | StepKind::Pause), step.duration.is_some())?;
    Ok(step)
}

fn class(section: &Section<'_>, verb: StepKind) -> Result<Option<String>, LoadError> {
    match section.text("class")? {
        Some(class) => plain_name(section, class).map(Some),
        None => Ok(usual_class(verb).map(str::to_owned)),
    }
}
