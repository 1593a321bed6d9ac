//! `simulate`: a kernel's policy, played as a model of discrete events, and written as a run like any other.
//!
//! The models are in the room `simulate`, which touches nothing. Here stands what joins them to the command line, the
//! archive and the screen.

mod block_requests;
mod course;
pub mod request;
mod run_writer;
mod table;
mod tally;
mod waits;
mod whatif;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Instant;

use archive::FlushState;
use model::run::{Configuration, RunDescription};
use model::stall::TraceSettings;
use model::time::Moment;
use record::clock;
use report::simulation::PolicyRun;
use serde_json::json;
use simulate::parameter::Settings;
use simulate::policy::{Model, Policy};

use crate::recording::run_directory;
use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;
use request::{Options, SimulationRequest};
use run_writer::RunWriter;

/// The verb.
pub fn simulate(request: &SimulationRequest) -> Result<Exit, Failure> {
    let options = &request.options;
    let screen = Screen::new(options.output.json, options.output.quiet);
    if options.list {
        screen.result(&table::of(request.model));
        return Ok(Exit::Done);
    }
    if let Some(path) = &options.trace {
        return whatif::what_if(request, path);
    }
    let settings = request.settings()?;
    let policies = request.policies()?;
    if options.plan {
        tell_plan(request, &policies, &settings, &screen);
        return Ok(Exit::Done);
    }
    let mut played = Vec::new();
    for policy in &policies {
        screen.doing(format!("{}, policy {}", request.model.name, policy.name));
        let directory = directory(options, request.model, policy, policies.len() > 1)?;
        let one = play(request, policy, &settings, &directory);
        screen.rest();
        let (one, state) = one?;
        if state != FlushState::Whole {
            screen.warning(&format!("{}: {state}", directory.display()));
        }
        played.push(one);
    }
    if options.output.json {
        screen.json(&report::simulation::json(request.model.name, options.seed, &played));
    } else {
        screen.result(&report::simulation::text(
            request.model.about,
            &options.set,
            options.seed,
            &played,
            screen.style(),
        ));
    }
    screen.remark(&next_steps(&played));
    Ok(Exit::Done)
}

/// What would be played. Whether the settings go together only playing shows.
fn tell_plan(request: &SimulationRequest, policies: &[Policy], settings: &Settings, screen: &Screen) {
    let names: Vec<&str> = policies.iter().map(|policy| policy.name).collect();
    let values: serde_json::Map<_, _> = settings
        .all()
        .map(|(parameter, value)| {
            (parameter.name.to_owned(), value.map_or_else(|word| json!(word), |number| json!(number)))
        })
        .collect();
    if request.options.output.json {
        screen.json(
            &json!({ "plan": { "model": request.model.name, "policies": names, "parameters": values, "phases": [] } }),
        );
        return;
    }
    let values: Vec<String> = values.iter().map(|(name, value)| format!("  {name} = {value}\n")).collect();
    screen.result(&format!("{}, {}\n{}", request.model.name, names.join(", "), values.concat()));
}

/// Plays one policy into a run directory.
fn play(
    request: &SimulationRequest,
    policy: &Policy,
    settings: &Settings,
    directory: &Path,
) -> Result<(PolicyRun, FlushState), Failure> {
    if let Some(parent) = directory.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        std::fs::create_dir_all(parent)
            .map_err(|error| Failure::machine(format_args!("{}: cannot make it: {error}", parent.display())))?;
    }
    let description = describe(request, policy, settings);
    let mut writer = RunWriter::new(directory, &description, options_all(&request.options));
    let began = Instant::now();
    let outcome =
        (request.model.run)(policy.name, settings, request.options.seed, &mut writer).map_err(Failure::usage)?;
    let course = course::course(outcome);
    let state = writer.close(course.clone()).map_err(Failure::machine)?;
    let simulation = description.simulated.expect("it was described as one");
    let run = directory.display().to_string();
    Ok((PolicyRun { run, simulation, course, took: began.elapsed() }, state))
}

/// Without a name of the person's own, policies are what is compared.
fn of_policy(policy: &Policy) -> Configuration {
    let settings = vec![("policy".to_owned(), policy.name.to_owned())];
    Configuration { settings, ..Configuration::named(policy.name) }
}

fn options_all(options: &Options) -> bool {
    options.requests == crate::recording::args::Requests::All
}

fn describe(request: &SimulationRequest, policy: &Policy, settings: &Settings) -> RunDescription {
    let options = &request.options;
    let slow_ns = options.slower_than;
    // As a tracer has it.
    let interval_ns = (slow_ns / 100).clamp(1_000, 10_000_000);
    let trace = TraceSettings { slow_ns, interval_ns, all_requests: options_all(options) };
    RunDescription {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        sample_interval_ns: options.interval,
        report_interval_ns: Some(options.interval),
        slower_than_ns: slow_ns,
        trace: Some(trace),
        seed: Some(options.seed),
        simulated: Some(course::simulation(request.model, policy, settings)),
        configuration: Some(options.configuration.clone().unwrap_or_else(|| of_policy(policy))),
        // The model's clock begins at 0; the wall clock says when it was played.
        ..RunDescription::new(request.model.name, Moment { monotonic_ns: 0, wall_ns: clock::now().wall_ns })
    }
}

/// The run directory of a policy: `--out` itself, or a folder in it where there are several.
fn directory(options: &Options, model: &Model, policy: &Policy, several: bool) -> Result<PathBuf, Failure> {
    match &options.out {
        Some(out) if several => Ok(out.join(policy.name)),
        Some(out) => Ok(out.clone()),
        None => Ok(run_directory::choose(None, &format!("{}-{}", model.name, policy.name), &[])?.directory),
    }
}

fn next_steps(played: &[PolicyRun]) -> String {
    let mut text = "Try next:".to_owned();
    if let [first, .., last] = played {
        text.push_str(&format!("\n  stallscope compare --a {} --b {}", first.run, last.run));
    }
    if let Some(first) = played.first() {
        text.push_str(&format!("\n  stallscope explain {0}\n  stallscope report {0} -o simulated.html", first.run));
    }
    text
}
