//! `run`: a workload on real directories, recorded.

mod crash;
mod drive;
mod launcher;
mod live;
mod native_flags;
mod patience;
pub mod request;
mod showing;
mod stuck;
pub mod workload;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use explain::blame::Scope;
use explain::summary::Summary;
use load::conductor::{Conductor, Launch};
use load::facts::MachineFacts;
use load::plan::{Plan, PlanRequest};
use model::event::Ending;
use model::run::RecipeAsRun;
use record::clock;
use rig::{Register, Thing};
use serde_json::json;

use self::drive::drive;
use self::patience::{CALM_PATIENCE, CLOSE_PATIENCE, LAST_PATIENCE, POLL, REMOVAL_PATIENCE};
use self::request::RunRequest;
use self::showing::Showing;
use crate::reading::form::Format;
use crate::reading::{explanation, summary};
use crate::recording::machine::{self, Intent};
use crate::recording::session::{Observers, Session};
use crate::ui::failure::{Exit, Failure};
use crate::ui::interrupt::Interrupt;
use crate::ui::screen::Screen;

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The exit code.
    pub exit: Exit,
    /// The run directory; `None` if only a plan was printed.
    pub directory: Option<PathBuf>,
}

/// Runs a workload, and prints its summary and a brief explanation.
pub fn run(request: RunRequest) -> Result<Exit, Failure> {
    if let Some(exit) = launcher::refuse(&request)? {
        return Ok(exit);
    }
    let output = &request.args.recording.output;
    // Nothing may follow a machine-readable format.
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
        explanation::print_brief(directory, Scope::default(), outcome.exit == Exit::Interrupted, &screen);
    }
    Ok(outcome.exit)
}

/// Lets the death of the parent process stop this one, as Ctrl-C would.
fn stop_with(parent: i32) -> Result<(), Failure> {
    let failed = |error| Failure::machine(format_args!("--with-parent: {error}"));
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM)).map_err(failed)?;
    match rustix::process::getppid().map(rustix::process::Pid::as_raw_pid) == Some(parent) {
        true => Ok(()),
        false => Err(Failure::machine("the parent process of this run is gone")),
    }
}

/// Plans, runs, records and prints the summary.
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
    let session = Session::open(
        &request.args.recording,
        intent(&request, &plan),
        &plan.directories,
        register,
        screen,
        Observers { watch: Some(live::watched), tap: None },
    )?;
    crash::keep_ledger(&mut plan, &session.directory, screen)?;
    let performance = Performance { request, showing, screen, interrupt, register };
    if interrupt.requests() > 0 {
        // Interrupted during setup: do not start the load.
        return performance.abandon(session);
    }
    performance.complete(plan, session)
}

/// A run that is set up.
struct Performance<'a> {
    request: RunRequest,
    showing: Showing,
    screen: &'a Screen,
    interrupt: &'a Interrupt,
    register: &'a Register,
}

impl Performance<'_> {
    /// Ends without having started the load.
    fn abandon(self, session: Session) -> Result<Outcome, Failure> {
        let directory = session.directory.clone();
        let closed = session.close(Ending::Interrupted, CLOSE_PATIENCE, |run| self.summarize(run))?;
        self.showing.show(&closed.summary, &directory, self.screen);
        closed.take_down(CLOSE_PATIENCE, self.screen);
        Ok(Outcome { exit: Exit::Interrupted, directory: Some(directory) })
    }

    fn complete(self, plan: Plan, mut session: Session) -> Result<Outcome, Failure> {
        let driven = self.load(plan, &mut session);
        self.screen.rest();
        let driven = match driven {
            Ok(driven) => driven,
            Err(failure) => {
                let _ = session.close(Ending::LoadFailed, CALM_PATIENCE, |run| self.summarize(run));
                return Err(failure);
            }
        };
        let directory = session.directory.clone();
        let patience = if driven.ending == Ending::Interrupted { CLOSE_PATIENCE } else { CALM_PATIENCE };
        let closed = session.close(driven.ending, patience, |run| self.summarize(run)).map(|closed| {
            self.showing.show(&closed.summary, &directory, self.screen);
            closed.take_down(patience / 2, self.screen)
        });
        let (ending, complaint) = (driven.ending, driven.complaint.clone());
        remove_data(driven, self.register, self.screen);
        let (summary, incomplete) = closed?;
        let exit = exit(ending, complaint, &summary, incomplete, &directory, self.screen)?;
        Ok(Outcome { exit, directory: Some(directory) })
    }

    fn summarize(&self, directory: &Path) -> Result<Summary, Failure> {
        summary::summary(directory, |warning| self.screen.warning(warning))
    }

    /// Starts the load and drives it to its end. The load makes nothing before its data set is registered.
    fn load(&self, plan: Plan, session: &mut Session) -> Result<Driven, Failure> {
        let launch = Launch {
            executable: PathBuf::from("/proc/self/exe"),
            arguments: vec!["__load".into()],
            cgroup_procs: session.cgroup_procs().to_vec(),
        };
        let mut conductor = Conductor::start(plan, &launch).map_err(Failure::machine)?;
        let data = register_data(conductor.plan(), &self.request, self.register)?;
        let (ending, complaint) = drive(&mut conductor, session, self.interrupt, self.screen);
        Ok(Driven { conductor, data, ending, complaint })
    }
}

fn plan(request: &RunRequest) -> Result<Plan, Failure> {
    let args = &request.args;
    let facts = MachineFacts::gather(&request.recipe.name, &args.directories(), args.recording.memory)
        .map_err(Failure::usage)?;
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
        report_interval_ns: Some(plan.report_interval_ns),
        slower_than_ns: plan.slower_than_ns,
        seed: Some(plan.seed),
        recipe: Some(RecipeAsRun {
            name: request.recipe.name.clone(),
            text: request.recipe.text().to_owned(),
            variables: plan.variables.clone(),
            words: plan.words.iter().chain(&request.notes).cloned().collect(),
            directories: plan.directories.iter().map(|path| path.display().to_string()).collect(),
            wholes: plan.wholes(),
            warmup_ns: plan.warmup_ns(),
        }),
        ..Intent::new(&request.recipe.name, &request.args.recording)
    }
}

/// Registers a data set that is not kept, so the next run removes it if this one cannot.
fn register_data(plan: &Plan, request: &RunRequest, register: &Register) -> Result<Vec<rig::Entry>, Failure> {
    if request.args.keep || plan.after_crash {
        return Ok(Vec::new());
    }
    let enter =
        |path: &PathBuf| register.enter(Thing::Directory { path: path.clone(), marker: load::data::MARKER.to_owned() });
    plan.data_directories.iter().map(enter).collect::<Result<_, _>>().map_err(Failure::machine)
}

fn remove_data(mut driven: Driven, register: &Register, screen: &Screen) {
    let interrupted = driven.ending == Ending::Interrupted;
    // The load may proceed now that the throttled device is gone.
    if !is_gone_within(&mut driven.conductor, if interrupted { LAST_PATIENCE } else { LAST_PATIENCE * 20 }) {
        let files = if driven.data.is_empty() { "" } else { "; the next run of stallscope removes their files" };
        screen.warning(&format!("threads of the load are stuck in the kernel and end once it releases them{files}"));
        return;
    }
    if !driven.data.is_empty() {
        screen.spin("removing the data set");
    }
    let patience = if interrupted { REMOVAL_PATIENCE } else { Duration::MAX };
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

/// A load that has ended, or was left behind.
struct Driven {
    conductor: Conductor,
    data: Vec<rig::Entry>,
    ending: Ending,
    /// The load's error message, if it did not end as planned.
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
            "the run ended early: the disk of {} is full; what was recorded before is complete",
            directory.display()
        ))),
        (Ending::LoadDied | Ending::LoadFailed, None) => {
            Err(Failure::found(complaint.as_deref().unwrap_or("the load ended unexpectedly")))
        }
        (Ending::Done, None) if failed > 0 => Ok(Exit::FoundErrors),
        (Ending::Done, None) => Ok(Exit::Done),
    }
}
