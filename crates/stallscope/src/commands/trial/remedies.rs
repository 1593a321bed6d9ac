//! The first remedies of a run that can be tried live, one after another.

use std::path::Path;

use explain::whatif::{Advice, Choice, advise};
use record::host;
use remedy::{Format, Remedies, Remedy, RemedyAction, Setting, Target};
use report::trial::{Tried, predicted, predicted_json};
use serde_json::{Value, json};

use super::args::TrialArgs;
use super::single::{Context, Finished, perform, planned};
use crate::reading::archived_run;
use crate::reading::explanation::explanation_with_accounting;
use crate::ui::failure::{Exit, Failure};

/// A remedy with the options of its trial.
struct Candidate<'a> {
    choice: &'a Choice,
    remedy: &'a Remedy,
    args: TrialArgs,
}

/// Tries them, and prints what was predicted beside what was measured.
pub(super) fn try_remedies(args: &TrialArgs, from: &Path, context: &Context<'_>) -> Result<Exit, Failure> {
    let advice = advice_of(from, context)?;
    let candidates = candidates(&advice, args, context);
    if candidates.is_empty() {
        return Err(Failure::usage(format_args!(
            "{}: no applicable remedy can be tried live; `stallscope explain --what-if {}` lists what would help",
            from.display(),
            from.display()
        )));
    }
    let mut finished: Vec<Finished> = Vec::new();
    for candidate in &candidates {
        context.screen.remark(&format!("\ntrying {}: {}", candidate.remedy.id, candidate.remedy.title));
        context.screen.remark(&format!("risk: {}", candidate.remedy.risk));
        let Some(one) = perform(&candidate.args, context)? else { continue };
        if !args.recording.output.json {
            one.print(&candidate.args, context.screen);
        }
        let is_done = one.exit == Exit::Done;
        finished.push(one);
        if !is_done {
            break;
        }
    }
    let tried = |(candidate, finished): (&Candidate<'_>, &Finished)| {
        let (choice, remedy) = (candidate.choice, candidate.remedy);
        let outcome = finished.evaluation.outcome.clone();
        (choice.clone(), remedy.clone(), outcome)
    };
    let tried: Vec<_> = candidates.iter().zip(&finished).map(tried).collect();
    let tried: Vec<Tried<'_>> =
        tried.iter().map(|(choice, remedy, outcome)| Tried { choice, remedy, outcome }).collect();
    show(args, from, context, &candidates, &finished, &tried)?;
    Ok(finished.last().map_or(Exit::Done, |last| last.exit))
}

fn show(
    args: &TrialArgs,
    from: &Path,
    context: &Context<'_>,
    candidates: &[Candidate<'_>],
    finished: &[Finished],
    tried: &[Tried<'_>],
) -> Result<(), Failure> {
    let screen = context.screen;
    if args.recording.output.json {
        let documents: Result<Vec<Value>, Failure> = match args.dry_run {
            true => candidates
                .iter()
                .map(|candidate| {
                    Ok(json!({ "remedy": candidate.remedy.id, "trial": planned(&candidate.args, context)? }))
                })
                .collect(),
            false => Ok(tried
                .iter()
                .zip(finished)
                .map(|(tried, finished)| json!({ "remedy": predicted_json(tried), "trial": finished.document() }))
                .collect()),
        };
        screen.json(&json!({ "from": from.display().to_string(), "trials": documents? }));
    } else if !tried.is_empty() {
        screen.result(&predicted(tried, screen.style()));
    }
    Ok(())
}

/// What would help. Devices of another boot may have other names.
fn advice_of(from: &Path, context: &Context<'_>) -> Result<Advice, Failure> {
    let run = archived_run::open(from)?;
    if !run.has_trace() {
        return Err(Failure::usage(format_args!("{}: recorded without kernel tracing", from.display())));
    }
    let now = host::host(&record::Roots::default()).boot_id;
    if run.description().host.boot_id != now {
        return Err(Failure::usage(format_args!(
            "{}: recorded on another machine or before the last boot, so its devices may have other names; record \
             again, or \
             name the setting with --set",
            from.display()
        )));
    }
    let _busy = context.screen.busy("predicting what would help");
    let (explanation, accounting) =
        explanation_with_accounting(&run, None, 1, |warning| context.screen.warning(warning));
    // A trial measures slow operations: shorter waits are no part of its figures.
    let waits = accounting.waits_asked_about(&explanation);
    Ok(advise(&explanation, &waits, &Remedies::shipped(), run.description()))
}

/// The first remedies that can be tried here, one of each choice.
fn candidates<'a>(advice: &'a Advice, args: &TrialArgs, context: &Context<'_>) -> Vec<Candidate<'a>> {
    let mut found = Vec::new();
    for choice in &advice.choices {
        let live = choice.remedies.iter().filter(|remedy| remedy.live);
        let mut possible = live.filter_map(|remedy| match of_remedy(choice, remedy, args, found.len()) {
            Ok(args) => Some(Candidate { choice, remedy, args }),
            Err(why) => {
                context.screen.remark(&format!("{} cannot be tried: {why}", remedy.id));
                None
            }
        });
        let first = possible.next();
        found.extend(first);
        if found.len() >= args.first {
            break;
        }
    }
    found
}

/// The options of a remedy's trial.
fn of_remedy(choice: &Choice, remedy: &Remedy, args: &TrialArgs, number: usize) -> Result<TrialArgs, String> {
    let mut own = TrialArgs { from: None, ..args.clone() };
    own.recording.out = args.recording.out.as_ref().map(|out| out.join(format!("{}-{}", number + 1, remedy.id)));
    match &remedy.change {
        RemedyAction::Setting(setting) => own.set = vec![of_setting(setting, &choice.target)?],
        RemedyAction::Command { apply, revert } => {
            let filled = |template: &str| choice.target.fill(template).map_err(|error| error.to_string());
            (own.apply, own.revert) = (Some(filled(apply)?), Some(filled(revert)?));
        }
        RemedyAction::Manual { .. } => return Err("it is not a setting".into()),
    }
    Ok(own)
}

/// The file and the value that it gets. A limit on a device may be that of a cgroup above: the nearest that has one.
fn of_setting(setting: &Setting, target: &Target) -> Result<(String, String), String> {
    let own = of_target(setting, target);
    let cgroup = target.cgroup.as_deref().map(Path::new);
    if own.is_ok() || !matches!(setting.format, Format::PerDevice | Format::Keyed(_)) {
        return own;
    }
    let above = cgroup.into_iter().flat_map(|cgroup| cgroup.ancestors().skip(1));
    let above = above.map(|cgroup| Target { cgroup: Some(cgroup.display().to_string()), ..target.clone() });
    above.map(|target| of_target(setting, &target)).find(Result::is_ok).unwrap_or(own)
}

fn of_target(setting: &Setting, target: &Target) -> Result<(String, String), String> {
    let path = target.fill(&setting.path).map_err(|error| error.to_string())?;
    let now = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let value = setting.apply(&now, target).map_err(|error| format!("{path}: {error}"))?;
    let changed = rig::Setting::named(&path, &value).map_err(|error| error.to_string())?;
    match changed.is_set() {
        true => Err(format!("{path} is '{value}' already")),
        false => Ok((path, value)),
    }
}
