//! `run`: a workload on real directories, recorded.

mod crash;
mod drive;
mod live;
mod showing;
mod stuck;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use explain::summary::Summary;
use load::conductor::{Conductor, Launch};
use load::facts::Facts;
use load::plan::{Plan, Request};
use model::event::Ending;
use model::run::RecipeAsRun;
use record::clock;
use rig::{Register, Thing};
use serde_json::json;

use crate::cli::Format;
use crate::explain_verb;
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::machine::{self, Intent};
use crate::screen::Screen;
use crate::session::Session;
use crate::workload::Asked;
use drive::drive;
use showing::Showing;

/// How long the program sleeps between two looks at the load; less where a report is due.
const POLL: Duration = Duration::from_millis(50);
/// How long closing the archive may take after an interrupt.
const CLOSE_PATIENCE: Duration = Duration::from_millis(600);
/// How long the load may take to go once the box and the slow device are gone; twenty times that when nobody is in a hurry.
const LAST_PATIENCE: Duration = Duration::from_millis(200);
/// How long removing the data set may take after an interrupt; the next run takes up what is left.
const REMOVAL_PATIENCE: Duration = Duration::from_secs(1);
/// How long closing may take otherwise, and a load that has done all to go.
const CALM_PATIENCE: Duration = Duration::from_secs(30);

/// What a run left.
#[derive(Debug)]
pub struct Outcome {
    /// The exit code.
    pub exit: Exit,
    /// The run directory; `None` where only a plan was shown.
    pub directory: Option<PathBuf>,
}

/// The verb.
pub fn run(asked: Asked) -> Result<Exit, Failure> {
    let output = &asked.args.recording.output;
    // Forms that programs read have nothing after them.
    let only_figures = output.json || asked.args.format == Format::Native;
    let screen = Screen::new(output.json, output.quiet);
    let interrupt = Interrupt::install()?;
    if let Some(parent) = asked.args.with_parent {
        stop_with(parent)?;
    }
    let spared = crash::spare(&asked);
    let register = machine::register(|remark| screen.remark(remark)).map_err(Failure::machine)?;
    drop(spared);
    let outcome = perform(asked, &screen, &interrupt, &register)?;
    if let Some(directory) = outcome.directory.as_deref().filter(|_| !only_figures) {
        explain_verb::tell_briefly(directory, outcome.exit == Exit::Interrupted, &screen);
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
pub fn perform(asked: Asked, screen: &Screen, interrupt: &Interrupt, register: &Register) -> Result<Outcome, Failure> {
    let showing = Showing::new(&asked)?;
    let mut plan = plan(&asked)?;
    if asked.args.plan {
        return show_plan(&plan, &asked, screen);
    }
    if let Some(refusal) = plan.refusals.first() {
        return Err(Failure::machine(format_args!("{}; {}", refusal.what, refusal.remedy)));
    }
    for remark in plan.remarks() {
        screen.warning(remark);
    }
    let mut session = Session::open(
        &asked.args.recording,
        intent(&asked, &plan),
        &plan.directories,
        register,
        screen,
        Some(live::watched),
    )?;
    crash::keep_ledger(&mut plan, &session.directory, screen)?;
    if interrupt.requests() > 0 {
        // What a run needs was built meanwhile; the load need not begin.
        let directory = session.directory.clone();
        let closed = session.close(Ending::Interrupted, CLOSE_PATIENCE, screen)?;
        showing.show(&closed.summary, &directory, screen);
        closed.take_down(CLOSE_PATIENCE, screen);
        return Ok(Outcome { exit: Exit::Interrupted, directory: Some(directory) });
    }
    let driven = load(plan, &asked, register, &mut session, interrupt, screen);
    screen.rest();
    let driven = match driven {
        Ok(driven) => driven,
        Err(failure) => {
            let _ = session.close(Ending::LoadFailed, CALM_PATIENCE, screen);
            return Err(failure);
        }
    };
    let directory = session.directory.clone();
    let patience = if driven.ending == Ending::Interrupted { CLOSE_PATIENCE } else { CALM_PATIENCE };
    let closed = session.close(driven.ending, patience, screen).map(|closed| {
        showing.show(&closed.summary, &directory, screen);
        closed.take_down(patience / 2, screen)
    });
    let (ending, complaint) = (driven.ending, driven.complaint.clone());
    take_data_away(driven, register, screen);
    let (summary, incomplete) = closed?;
    let exit = exit(ending, complaint, &summary, incomplete, &directory, screen)?;
    Ok(Outcome { exit, directory: Some(directory) })
}

fn plan(asked: &Asked) -> Result<Plan, Failure> {
    let args = &asked.args;
    let here = [PathBuf::from(".")];
    let directories = if args.directories.is_empty() { &here[..] } else { &args.directories };
    let facts = Facts::gather(&asked.recipe.name, directories, args.recording.memory).map_err(Failure::usage)?;
    let request = Request {
        settings: asked.settings.clone(),
        seed: args.seed.unwrap_or_else(|| clock::now().wall_ns as u64),
        slower_than_ns: args.recording.slower_than,
        report_interval_ns: None,
        force: args.force,
        after_crash: args.verify_after_crash,
    };
    let mut plan = Plan::resolve(&asked.recipe, &facts, &request).map_err(Failure::usage)?;
    crash::find_ledger(&mut plan)?;
    plan.refuse_impossible_direct_io();
    Ok(plan)
}

fn show_plan(plan: &Plan, asked: &Asked, screen: &Screen) -> Result<Outcome, Failure> {
    if asked.args.recording.output.json {
        screen.json(&json!({ "plan": plan, "fits": plan.refusals.is_empty() }));
    } else {
        screen.result(&plan.to_string());
    }
    let exit = if plan.refusals.is_empty() { Exit::Done } else { Exit::Machine };
    Ok(Outcome { exit, directory: None })
}

fn intent(asked: &Asked, plan: &Plan) -> Intent {
    Intent {
        workload: asked.recipe.name.clone(),
        sample_interval_ns: asked.args.recording.interval,
        report_interval_ns: Some(plan.report_interval_ns),
        slower_than_ns: plan.slower_than_ns,
        trace: machine::trace_options(&asked.args.recording),
        seed: Some(plan.seed),
        configuration: asked.args.recording.configuration.clone(),
        recipe: Some(RecipeAsRun {
            name: asked.recipe.name.clone(),
            text: asked.recipe.text().to_owned(),
            variables: plan.variables.clone(),
            words: plan.words.iter().chain(&asked.notes).cloned().collect(),
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
    asked: &Asked,
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
    let data = register_data(conductor.plan(), asked, register)?;
    let (ending, complaint) = drive(&mut conductor, session, interrupt, screen);
    Ok(Driven { conductor, data, ending, complaint })
}

/// A data set that is not to be kept is registered, so that the next run removes it if this one cannot.
fn register_data(plan: &Plan, asked: &Asked, register: &Register) -> Result<Vec<rig::Entry>, Failure> {
    if asked.args.keep || plan.after_crash {
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
