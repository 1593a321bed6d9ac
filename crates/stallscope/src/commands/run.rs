//! `run`: a workload on real directories, recorded.

mod crash;
mod drive;
mod live;
mod native_flags;
mod patience;
pub mod request;
mod showing;
mod stuck;
pub mod workload;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use explain::summary::Summary;
use load::conductor::{Conductor, Launch};
use load::facts::MachineFacts;
use load::plan::{Plan, PlanRequest};
use model::event::Ending;
use model::run::RecipeAsRun;
use record::clock;
use rig::{Register, Thing};
use serde_json::json;

use crate::reading::form::Format;
use crate::reading::{explanation, summary};
use crate::recording::machine::{self, Intent};
use crate::recording::session::Session;
use crate::ui::failure::{Exit, Failure};
use crate::ui::interrupt::Interrupt;
use crate::ui::screen::Screen;
use drive::drive;
use patience::{CALM_PATIENCE, CLOSE_PATIENCE, LAST_PATIENCE, POLL, REMOVAL_PATIENCE};
use request::RunRequest;
use showing::Showing;

/// What a run left.
#[derive(Debug)]
pub struct Outcome {
    /// The exit code.
    pub exit: Exit,
    /// The run directory; `None` where only a plan was shown.
    pub directory: Option<PathBuf>,
}

/// The verb.
pub fn run(request: RunRequest) -> Result<Exit, Failure> {
    let output = &request.args.recording.output;
    // Forms that programs read have nothing after them.
    let only_figures = output.json || request.args.format == Format::Native;
    let screen = Screen::new(output.json, output.quiet);
    let interrupt = Interrupt::install()?;
    if let Some(parent) = request.args.with_parent {
        stop_with(parent)?;
    }
    let spared = crash::spare(&request);
    let register = machine::register(|remark| screen.remark(remark)).map_err(Failure::machine)?;
    drop(spared);
    let outcome = perform(request, &screen, &interrupt, &register)?;
    if let Some(directory) = outcome.directory.as_deref().filter(|_| !only_figures) {
        explanation::tell_briefly(directory, outcome.exit == Exit::Interrupted, &screen);
    }
    Ok(outcome.exit)
}

/// Lets the death of the process that started this one stop it, as Ctrl-C would.
fn stop_with(parent: i32) -> Result<(), Failure> {
    let failed = |error| Failure::machine(format_args!("--with-parent: {error}"));
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM)).map_err(failed)?;
    match rustix::process::getppid().map(rustix::process::Pid::as_raw_pid) == Some(parent) {
        true => Ok(()),
        false => Err(Failure::machine("the program that started this run is gone")),
    }
}

/// Plans, runs, records and shows.
pub fn perform(
    request: RunRequest,
    screen: &Screen,
    interrupt: &Interrupt,
    register: &Register,
) -> Result<Outcome, Failure> {
    let showing = Showing::new(&request)?;
    let mut plan = plan(&request)?;
    if request.args.plan {
        return show_plan(&plan, &request, screen);
    }
    if let Some(refusal) = plan.refusals.first() {
        return Err(Failure::machine(format_args!("{}; {}", refusal.what, refusal.remedy)));
    }
    for remark in plan.remarks() {
        screen.warning(remark);
    }
    let mut session = Session::open(
        &request.args.recording,
        intent(&request, &plan),
        &plan.directories,
        register,
        screen,
        Some(live::watched),
    )?;
    crash::keep_ledger(&mut plan, &session.directory, screen)?;
    if interrupt.requests() > 0 {
        // What a run needs was built meanwhile; the load need not begin.
        let directory = session.directory.clone();
        let closed = session.close(Ending::Interrupted, CLOSE_PATIENCE, |directory| {
            summary::summary(directory, |warning| screen.warning(warning))
        })?;
        showing.show(&closed.summary, &directory, screen);
        closed.take_down(CLOSE_PATIENCE, screen);
        return Ok(Outcome { exit: Exit::Interrupted, directory: Some(directory) });
    }
    let driven = load(plan, &request, register, &mut session, interrupt, screen);
    screen.rest();
    let driven = match driven {
        Ok(driven) => driven,
        Err(failure) => {
            let _ = session.close(Ending::LoadFailed, CALM_PATIENCE, |directory| {
                summary::summary(directory, |warning| screen.warning(warning))
            });
            return Err(failure);
        }
    };
    let directory = session.directory.clone();
    let patience = if driven.ending == Ending::Interrupted { CLOSE_PATIENCE } else { CALM_PATIENCE };
    let closed = session
        .close(driven.ending, patience, |directory| summary::summary(directory, |warning| screen.warning(warning)))
        .map(|closed| {
            showing.show(&closed.summary, &directory, screen);
            closed.take_down(patience / 2, screen)
        });
    let (ending, complaint) = (driven.ending, driven.complaint.clone());
    take_data_away(driven, register, screen);
    let (summary, incomplete) = closed?;
    let exit = exit(ending, complaint, &summary, incomplete, &directory, screen)?;
    Ok(Outcome { exit, directory: Some(directory) })
}

fn plan(request: &RunRequest) -> Result<Plan, Failure> {
    let args = &request.args;
    let here = [PathBuf::from(".")];
    let directories = if args.directories.is_empty() { &here[..] } else { &args.directories };
    let facts =
        MachineFacts::gather(&request.recipe.name, directories, args.recording.memory).map_err(Failure::usage)?;
    let planned = PlanRequest {
        settings: request.settings.clone(),
        seed: args.seed.unwrap_or_else(|| clock::now().wall_ns as u64),
        slower_than_ns: args.recording.slower_than,
        report_interval_ns: None,
        force: args.force,
        after_crash: args.verify_after_crash,
    };
    let mut plan = Plan::resolve(&request.recipe, &facts, &planned).map_err(Failure::usage)?;
    crash::find_ledger(&mut plan)?;
    plan.refuse_impossible_direct_io();
    Ok(plan)
}

fn show_plan(plan: &Plan, request: &RunRequest, screen: &Screen) -> Result<Outcome, Failure> {
    if request.args.recording.output.json {
        screen.json(&json!({ "plan": plan, "fits": plan.refusals.is_empty() }));
    } else {
        screen.result(&plan.to_string());
    }
    let exit = if plan.refusals.is_empty() { Exit::Done } else { Exit::Machine };
    Ok(Outcome { exit, directory: None })
}

fn intent(request: &RunRequest, plan: &Plan) -> Intent {
    Intent {
        workload: request.recipe.name.clone(),
        sample_interval_ns: request.args.recording.interval,
        report_interval_ns: Some(plan.report_interval_ns),
        slower_than_ns: plan.slower_than_ns,
        trace: machine::trace_options(&request.args.recording),
        seed: Some(plan.seed),
        configuration: request.args.recording.configuration.clone(),
        recipe: Some(RecipeAsRun {
            name: request.recipe.name.clone(),
            text: request.recipe.text().to_owned(),
            variables: plan.variables.clone(),
            words: plan.words.iter().chain(&request.notes).cloned().collect(),
            directories: plan.directories.iter().map(|path| path.display().to_string()).collect(),
            wholes: plan.wholes(),
            warmup_ns: plan.warmup_ns(),
        }),
    }
}

/// Starts the load and leads it to its end. It makes nothing before it is told to, and is told only after its data set
/// was registered.
fn load(
    plan: Plan,
    request: &RunRequest,
    register: &Register,
    session: &mut Session,
    interrupt: &Interrupt,
    screen: &Screen,
) -> Result<Driven, Failure> {
    let launch = Launch {
        executable: PathBuf::from("/proc/self/exe"),
        arguments: vec!["__load".into()],
        cgroup_procs: session.cgroup_procs().to_vec(),
    };
    let mut conductor = Conductor::start(plan, &launch).map_err(Failure::machine)?;
    let data = register_data(conductor.plan(), request, register)?;
    let (ending, complaint) = drive(&mut conductor, session, interrupt, screen);
    Ok(Driven { conductor, data, ending, complaint })
}

/// A data set that is not to be kept is registered, so that the next run removes it if this one cannot.
fn register_data(plan: &Plan, request: &RunRequest, register: &Register) -> Result<Vec<rig::Entry>, Failure> {
    if request.args.keep || plan.after_crash {
        return Ok(Vec::new());
    }
    let enter =
        |path: &PathBuf| register.enter(Thing::Directory { path: path.clone(), marker: load::data::MARKER.to_owned() });
    plan.data_directories.iter().map(enter).collect::<Result<_, _>>().map_err(Failure::machine)
}

fn take_data_away(mut driven: Driven, register: &Register, screen: &Screen) {
    let hurry = driven.ending == Ending::Interrupted;
    // What held the load back may have gone with the slow device.
    if !is_gone_within(&mut driven.conductor, if hurry { LAST_PATIENCE } else { LAST_PATIENCE * 20 }) {
        let files = if driven.data.is_empty() { "" } else { "; the next run of stallscope removes their files" };
        screen.warning(&format!("threads of the load are stuck in the kernel and end when it lets them go{files}"));
        return;
    }
    if !driven.data.is_empty() {
        screen.spin("removing the data set");
    }
    let patience = if hurry { REMOVAL_PATIENCE } else { Duration::MAX };
    for leftover in register.undo_all_within(driven.data, patience).iter().filter(|removed| !removed.complete) {
        screen.warning(&leftover.to_string());
    }
    screen.rest();
}

fn is_gone_within(conductor: &mut Conductor, patience: Duration) -> bool {
    let began = Instant::now();
    while !conductor.is_gone() {
        if began.elapsed() > patience {
            return false;
        }
        std::thread::sleep(POLL / 10);
    }
    true
}

/// A load that was led to its end, or left behind.
struct Driven {
    conductor: Conductor,
    data: Vec<rig::Entry>,
    ending: Ending,
    /// What the load said about its end, where that was not as planned.
    complaint: Option<String>,
}

fn exit(
    ending: Ending,
    complaint: Option<String>,
    summary: &Summary,
    incomplete: Option<Failure>,
    directory: &Path,
    screen: &Screen,
) -> Result<Exit, Failure> {
    let failed: u64 = summary.failures.iter().map(|failure| failure.count).sum();
    match (ending, incomplete) {
        (Ending::Interrupted, incomplete) => {
            incomplete.iter().for_each(|failure| screen.warning(&failure.to_string()));
            Ok(Exit::Interrupted)
        }
        (_, Some(failure)) => Err(failure),
        (Ending::ArchiveFull, None) => Err(Failure::machine(format_args!(
            "the run ended early, because the disk of {} is full; what was recorded until then is whole",
            directory.display()
        ))),
        (Ending::LoadDied | Ending::LoadFailed, None) => {
            Err(Failure::found(complaint.as_deref().unwrap_or("the load ended by itself")))
        }
        (Ending::Done, None) if failed > 0 => Ok(Exit::FoundErrors),
        (Ending::Done, None) => Ok(Exit::Done),
    }
}
