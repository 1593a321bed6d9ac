//! Checks of a recipe as a whole.

use std::ops::Range;

use super::items::{ActorRecipe, PhaseKind, Recipe, StepKind, StepRecipe};
use super::job::JobRecipe;
use super::section::Formula;
use crate::error::LoadError;
use crate::expression::Mistake;
use crate::facts;
use crate::source_text::SourceText;
use crate::suggestion::nearest;

/// Refuses steps that could never do anything.
pub(super) fn steps(recipe: &Recipe) -> Result<(), LoadError> {
    let fills = recipe.phases.iter().any(|phase| phase.kind == PhaseKind::Fill);
    for actor in &recipe.actors {
        let moves = |step: &StepRecipe| matches!(step.verb, StepKind::Read | StepKind::Write | StepKind::Create);
        for step in &actor.steps {
            let why = match step.verb {
                StepKind::Touch if actor.holds.is_none() => "there is nothing to touch: the actor has no 'holds'",
                StepKind::Fsync if !actor.steps.iter().any(moves) => "there is nothing to fsync: no step uses a file",
                _ if moves(step) && !fills => "the files are never created: there is no [[phase]] of kind 'fill'",
                _ => continue,
            };
            return Err(recipe.source.diagnostic(step.span.clone(), why).into());
        }
    }
    if let Some(actor) =
        recipe.actors.iter().find(|actor| actor.job.as_ref().is_some_and(JobRecipe::uses_files) && !fills)
    {
        let why = "the directories are never prepared: there is no [[phase]] of kind 'fill'";
        return Err(recipe.source.diagnostic(actor.span.clone(), why).into());
    }
    phases(recipe)
}

/// A phase without a duration ends with its jobs, so an actor must have one in it.
fn phases(recipe: &Recipe) -> Result<(), LoadError> {
    for (number, phase) in recipe.phases.iter().enumerate() {
        let acts = |actor: &ActorRecipe| actor.phases.as_ref().is_none_or(|phases| phases.contains(&number));
        let ends = |actor: &&ActorRecipe| actor.job.is_some() && !actor.background && acts(actor);
        if phase.kind != PhaseKind::Fill && phase.duration.is_none() && !recipe.actors.iter().any(|a| ends(&a)) {
            let why = format!("phase '{}' needs 'duration', or an actor with a job that ends", phase.name);
            return Err(recipe.source.diagnostic(phase.span.clone(), why).into());
        }
    }
    Ok(())
}

/// Every name in every formula must be a variable or a fact.
pub(super) fn names(recipe: &Recipe) -> Result<(), LoadError> {
    let known = |name: &str| facts::NAMES.contains(&name) || recipe.variables.iter().any(|v| v.name == name);
    for formula in formulas(recipe) {
        if let Some((name, span)) = formula.expression.names().into_iter().find(|(name, _)| !known(name)) {
            return Err(unknown_name(recipe, &recipe.source, formula, name, span));
        }
    }
    Ok(())
}

/// The error for an unknown name in a formula.
pub(crate) fn unknown_name(
    recipe: &Recipe,
    source: &SourceText,
    formula: &Formula,
    name: &str,
    span: Range<usize>,
) -> LoadError {
    let names = recipe.variables.iter().map(|v| v.name.as_str()).chain(facts::NAMES);
    let remedy = match nearest(name, names) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("machine properties are {}", facts::NAMES.join(", ")),
    };
    let message = format!("'{name}' is neither a variable nor a machine property; {remedy}");
    formula.mistake(source, Mistake { span, message }).into()
}

fn formulas(recipe: &Recipe) -> impl Iterator<Item = &Formula> {
    let variables = recipe.variables.iter().flat_map(|v| [Some(&v.default), v.min.as_ref(), v.max.as_ref()]);
    let words = recipe.variables.iter().flat_map(|v| v.names.iter().map(|(_, formula)| Some(formula)));
    let phases = recipe.phases.iter().flat_map(|phase| [phase.duration.as_ref(), phase.when.as_ref()]);
    let sets = recipe.file_sets.iter().flat_map(|set| {
        let names = &set.names;
        let lengths = [&names.name_bytes, &names.random_bytes, &names.subdirectories].map(Option::as_ref);
        let tree = names.items.iter().flat_map(|tree| tree.formulas().map(Some));
        [Some(&set.count), Some(&set.size), set.stamped.as_ref()].into_iter().chain(lengths).chain(tree)
    });
    let actors = recipe
        .actors
        .iter()
        .flat_map(|actor| [Some(&actor.count), actor.directories.as_ref(), actor.holds.as_ref(), actor.rate.as_ref()]);
    let steps = recipe
        .actors
        .iter()
        .flat_map(|actor| &actor.steps)
        .flat_map(|step| [step.fork.as_ref(), step.size.as_ref(), step.block.as_ref(), step.duration.as_ref()]);
    let jobs = recipe.actors.iter().filter_map(|actor| actor.job.as_ref()).flat_map(|job| job.formulas().map(Some));
    let repeat = recipe.repeat.iter().flat_map(|repeat| [Some(&repeat.count), repeat.until_full.as_ref()]);
    variables.chain(words).chain(phases).chain(sets).chain(actors).chain(steps).chain(jobs).chain(repeat).flatten()
}
