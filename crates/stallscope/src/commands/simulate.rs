//! `simulate`: discrete-event models of kernel policies, archived as runs.
//!
//! The models are in the crate `simulate`, which does no I/O. This command connects them to the command line, the
//! archive and the screen.

mod course;
mod model_run;
pub mod request;
mod table;
mod whatif;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Instant;

use archive::FlushState;
use ingest::RunWriter;
use model::run::{Configuration, RunDescription};
use model::stall::TraceSettings;
use model::time::Moment;
use record::clock;
use report::simulation::PolicyRun;
use serde_json::json;
use simulate::parameter::Settings;
use simulate::policy::{Model, Policy};

use self::model_run::ModelRun;
use self::request::{Options, SimulationRequest};
use crate::recording::run_directory;
use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;

/// Simulates a model under each policy, and prints a summary.
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
        show_plan(request, &policies, &settings, &screen);
        return Ok(Exit::Done);
    }
    let simulated = simulate_policies(request, &policies, &settings, &screen)?;
    if options.output.json {
        screen.json(&report::simulation::json(request.model.name, options.seed, &simulated));
    } else {
        let about = request.model.about;
        let text = report::simulation::text(about, &options.set, options.seed, &simulated, screen.style());
        screen.result(&text);
    }
    screen.remark(&next_steps(&simulated));
    Ok(Exit::Done)
}

fn simulate_policies(
    request: &SimulationRequest,
    policies: &[Policy],
    settings: &Settings,
    screen: &Screen,
) -> Result<Vec<PolicyRun>, Failure> {
    let mut simulated = Vec::new();
    for policy in policies {
        screen.doing(format!("{}, policy {}", request.model.name, policy.name));
        let directory = directory(&request.options, request.model, policy, policies.len() > 1)?;
        let result = simulate_policy(request, policy, settings, &directory);
        screen.rest();
        let (run, state) = result?;
        if state != FlushState::Whole {
            screen.warning(&format!("{}: {state}", directory.display()));
        }
        simulated.push(run);
    }
    Ok(simulated)
}

/// Prints the plan. Contradictory settings are found only by the simulation.
fn show_plan(request: &SimulationRequest, policies: &[Policy], settings: &Settings, screen: &Screen) {
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
    screen.result(&format!("{}, {}\n{}", request.model.name, names.join(", "), table::values(settings)));
}

/// Simulates one policy into a run directory.
fn simulate_policy(
    request: &SimulationRequest,
    policy: &Policy,
    settings: &Settings,
    directory: &Path,
) -> Result<(PolicyRun, FlushState), Failure> {
    let description = describe(request, policy, settings);
    let sharing = request.options.sharing.sharing()?;
    let writer = RunWriter::new(directory, sharing, &description, all_requests(&request.options));
    let mut run = ModelRun::new(writer);
    let began = Instant::now();
    let outcome = (request.model.run)(policy.name, settings, request.options.seed, &mut run).map_err(Failure::usage)?;
    let course = course::course(outcome);
    let state = run.close(course.clone()).map_err(run_directory::not_created)?;
    let simulation = description.simulated.expect("the run is described as simulated");
    let run = directory.display().to_string();
    Ok((PolicyRun { run, simulation, course, took: began.elapsed() }, state))
}

/// Without a label from the user, the policy is the configuration.
fn of_policy(policy: &Policy) -> Configuration {
    let settings = vec![("policy".to_owned(), policy.name.to_owned())];
    Configuration { settings, ..Configuration::named(policy.name) }
}

fn all_requests(options: &Options) -> bool {
    options.requests == crate::recording::args::Requests::All
}

fn describe(request: &SimulationRequest, policy: &Policy, settings: &Settings) -> RunDescription {
    let options = &request.options;
    let slow_ns = options.slower_than;
    // As the tracer chooses it.
    let interval_ns = (slow_ns / 100).clamp(1_000, 10_000_000);
    let trace = TraceSettings { slow_ns, interval_ns, all_requests: all_requests(options) };
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
        // The model's clock starts at 0; the wall clock is the time of the simulation.
        ..RunDescription::new(request.model.name, Moment { monotonic_ns: 0, wall_ns: clock::now().wall_ns })
    }
}

/// The run directory of a policy: `--out`, or a subfolder of it if there are several policies.
fn directory(options: &Options, model: &Model, policy: &Policy, several: bool) -> Result<PathBuf, Failure> {
    match &options.out {
        Some(out) => {
            let own = if several { out.join(policy.name) } else { out.clone() };
            Ok(run_directory::choose(Some(&own), policy.name, &[])?.directory)
        }
        None => Ok(run_directory::choose(None, &format!("{}-{}", model.name, policy.name), &[])?.directory),
    }
}

fn next_steps(runs: &[PolicyRun]) -> String {
    let mut text = "Try next:".to_owned();
    if let [first, .., last] = runs {
        text.push_str(&format!("\n  stallscope compare --a {} --b {}", first.run, last.run));
    }
    if let Some(first) = runs.first() {
        text.push_str(&format!("\n  stallscope explain {0}\n  stallscope report {0} -o simulated.html", first.run));
    }
    text
}
