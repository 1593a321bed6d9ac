//! `run`: a workload on real directories, recorded.

mod live;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use explain::summary::Summary;
use load::conductor::{Conductor, Launch, LoadEvent};
use load::facts::Facts;
use load::plan::{Plan, Request};
use model::event::Ending;
use model::run::RecipeAsRun;
use record::clock;
use rig::{Register, Thing};
use serde_json::json;

use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::machine::{self, Intent};
use crate::screen::Screen;
use crate::session::Session;
use crate::workload::Asked;
use live::Live;

/// How long the program sleeps between two looks at the load; less where a report is due.
const POLL: Duration = Duration::from_millis(50);
/// After the first Ctrl-C the load has this long to end by itself; then it is killed.
const STOP_PATIENCE: Duration = Duration::from_millis(900);
/// A killed load is gone at once, or is stuck in the kernel and cannot be waited for.
const KILL_PATIENCE: Duration = Duration::from_millis(200);
/// How long closing the archive may take after an interrupt.
const CLOSE_PATIENCE: Duration = Duration::from_millis(600);
/// How long removing the data set may take after an interrupt; the next run takes up what is left.
const REMOVAL_PATIENCE: Duration = Duration::from_secs(1);
/// How long closing may take otherwise.
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
    let screen = Screen::new(output.json, output.quiet);
    let interrupt = Interrupt::install()?;
    let register = machine::register(|remark| screen.remark(remark)).map_err(Failure::machine)?;
    Ok(perform(asked, &screen, &interrupt, &register)?.exit)
}

/// Plans, runs, records and shows.
pub fn perform(asked: Asked, screen: &Screen, interrupt: &Interrupt, register: &Register) -> Result<Outcome, Failure> {
    let plan = plan(&asked)?;
    if asked.args.plan {
        return show_plan(&plan, &asked, screen);
    }
    if let Some(refusal) = plan.refusals.first() {
        return Err(Failure::machine(format_args!("{}; {}", refusal.what, refusal.remedy)));
    }
    let mut session = Session::open(
        &asked.args.recording,
        intent(&asked, &plan),
        &plan.directories,
        register,
        screen,
        Some(live::watched),
    )?;
    let data = register_data(&plan, &asked, register)?;
    let launch = Launch {
        executable: PathBuf::from("/proc/self/exe"),
        arguments: vec!["__load".into()],
        cgroup_procs: session.cgroup_procs().to_vec(),
    };
    let driven = Conductor::start(plan, &launch)
        .map_err(Failure::machine)
        .map(|conductor| drive(conductor, &mut session, interrupt, screen));
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
    let closed = session.close(driven.ending, patience, screen);
    if let Ok(summary) = &closed {
        show(summary, &directory, screen, asked.args.recording.output.json);
    }
    take_data_away(data, &driven, register, screen);
    let exit = exit(&driven, &closed?, &directory)?;
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
    };
    Plan::resolve(&asked.recipe, &facts, &request).map_err(Failure::usage)
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
        seed: Some(plan.seed),
        recipe: Some(RecipeAsRun {
            name: asked.recipe.name.clone(),
            text: asked.recipe.text().to_owned(),
            variables: plan.variables.clone(),
            directories: plan.directories.iter().map(|path| path.display().to_string()).collect(),
            warmup_ns: plan.warmup_ns(),
        }),
    }
}

/// A data set that is not to be kept is registered, so that the next run removes it if this one cannot.
fn register_data(plan: &Plan, asked: &Asked, register: &Register) -> Result<Vec<rig::Entry>, Failure> {
    if asked.args.keep {
        return Ok(Vec::new());
    }
    let enter =
        |path: &PathBuf| register.enter(Thing::Directory { path: path.clone(), marker: load::data::MARKER.to_owned() });
    plan.data_directories.iter().map(enter).collect::<Result<_, _>>().map_err(Failure::machine)
}

fn take_data_away(data: Vec<rig::Entry>, driven: &Driven, register: &Register, screen: &Screen) {
    if !driven.load_is_gone {
        screen.warning(
            "threads of the load are stuck in the kernel and end when it lets them go; \
             the next run of stallscope removes their files",
        );
        return;
    }
    if !data.is_empty() {
        screen.spin("removing the data set");
    }
    let patience = if driven.ending == Ending::Interrupted { REMOVAL_PATIENCE } else { Duration::MAX };
    for leftover in register.undo_all_within(data, patience).iter().filter(|removed| !removed.complete) {
        screen.warning(&leftover.to_string());
    }
    screen.rest();
}

/// How the load came to its end.
struct Driven {
    ending: Ending,
    load_is_gone: bool,
    /// What the load said about its end, where that was not as planned.
    complaint: Option<String>,
}

/// Leads the load through its phases, writes down what it does, and shows it, until it is gone or cannot be waited for.
fn drive(mut conductor: Conductor, session: &mut Session, interrupt: &Interrupt, screen: &Screen) -> Driven {
    let mut live = Live::new(session.description.clone(), conductor.plan());
    let mut stopping: Option<(Ending, Instant)> = None;
    loop {
        for event in conductor.poll(load::clock::now_ns()) {
            let ended = match &event {
                LoadEvent::Finished => Some(None),
                LoadEvent::Died { message, .. } => Some(Some(message.clone())),
                _ => None,
            };
            live.take(event, &session.recorder, screen);
            if let Some(complaint) = ended {
                let ending = match (&stopping, &complaint) {
                    (Some((ending, _)), _) => *ending,
                    (None, Some(_)) => live.death(),
                    (None, None) => Ending::Done,
                };
                return Driven { ending, load_is_gone: true, complaint };
            }
        }
        match &stopping {
            None => {
                let asked = if interrupt.requests() > 0 {
                    Some(Ending::Interrupted)
                } else {
                    session.archive_is_full(screen).then_some(Ending::ArchiveFull)
                };
                if let Some(ending) = asked {
                    conductor.stop();
                    stopping = Some((ending, Instant::now()));
                }
            }
            Some((ending, since)) => {
                let patience = if interrupt.requests() > 1 { Duration::ZERO } else { STOP_PATIENCE };
                if since.elapsed() > patience {
                    conductor.kill();
                }
                if since.elapsed() > patience + KILL_PATIENCE {
                    let ending = *ending;
                    conductor.abandon();
                    return Driven { ending, load_is_gone: false, complaint: None };
                }
            }
        }
        live.show_progress(&session.recorder, screen);
        let due_in = conductor.next_due_ns().map(|due_ns| due_ns.saturating_sub(load::clock::now_ns()));
        std::thread::sleep(due_in.map_or(POLL / 10, |ns| Duration::from_nanos(ns).min(POLL)));
    }
}

fn show(summary: &Summary, directory: &std::path::Path, screen: &Screen, json: bool) {
    let name = directory.display().to_string();
    if summary.workload == "simoop" {
        screen.result(&format!("{}\n{}\n", report::simoop::FINAL_STATS, report::simoop::report(summary)));
    }
    if json {
        screen.json(&report::json::summary(&name, summary));
    } else {
        screen.result(&report::summary::text(&name, summary, screen.style()));
    }
}

fn exit(driven: &Driven, summary: &Summary, directory: &std::path::Path) -> Result<Exit, Failure> {
    let failed: u64 = summary.operations.iter().map(|operation| operation.latencies.errors()).sum();
    let complaint = driven.complaint.as_deref().unwrap_or("the load ended by itself");
    match driven.ending {
        Ending::Interrupted => Ok(Exit::Interrupted),
        Ending::ArchiveFull => Err(Failure::machine(format_args!(
            "the run ended early, because the disk of {} is full; what was recorded until then is whole",
            directory.display()
        ))),
        Ending::LoadDied | Ending::LoadFailed => Err(Failure::found(complaint)),
        Ending::Done if failed > 0 => Ok(Exit::FoundErrors),
        Ending::Done => Ok(Exit::Done),
    }
}
