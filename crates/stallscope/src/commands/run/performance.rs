//! A workload from its plan to its end.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use explain::summary::Summary;
use load::conductor::{Conductor, Launch};
use load::facts::MachineFacts;
use load::plan::{Plan, PlanRequest, RankPlacement};
use model::event::Ending;
use model::run::RecipeAsRun;
use record::clock;
use rig::{Register, Resource};
use serde_json::json;

use super::consent;
use super::drive::drive;
use super::other_ranks::OtherRanks;
use super::patience::{CALM_PATIENCE, CLOSE_PATIENCE, LAST_PATIENCE, POLL, REMOVAL_PATIENCE};
use super::request::RunRequest;
use super::showing::Showing;
use crate::reading::integrity::Integrity;
use crate::reading::summary;
use crate::recording::machine::Intent;
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

/// Plans, runs, records and prints the summary.
pub fn perform(
    request: RunRequest,
    screen: &Screen,
    interrupt: &Interrupt,
    register: &Register,
) -> Result<Outcome, Failure> {
    let showing = Showing::new(&request)?;
    let plan = plan(&request)?;
    if request.args.plan {
        return show_plan(&plan, &request, screen);
    }
    check(&plan, screen)?;
    consent::require(&plan, &request)?;
    Performance { request, showing, screen, interrupt, register, other_ranks: None }.perform(plan)
}

/// Refuses a plan that does not fit.
pub(super) fn check(plan: &Plan, screen: &Screen) -> Result<(), Failure> {
    if let Some(refusal) = plan.refusals.first() {
        return Err(Failure::machine(format_args!("{}; {}", refusal.what, refusal.remedy)));
    }
    plan.remarks().iter().for_each(|remark| screen.warning(remark));
    Ok(())
}

/// A run that is planned.
pub(super) struct Performance<'a> {
    pub(super) request: RunRequest,
    pub(super) showing: Showing,
    pub(super) screen: &'a Screen,
    pub(super) interrupt: &'a Interrupt,
    pub(super) register: &'a Register,
    /// Other ranks, where a launcher started them.
    pub(super) other_ranks: Option<&'a dyn OtherRanks>,
}

impl Performance<'_> {
    /// Records and runs the plan.
    pub(super) fn perform(self, mut plan: Plan) -> Result<Outcome, Failure> {
        let session = Session::open(
            &self.request.args.recording,
            intent(&self.request, &plan),
            &plan.directories,
            self.register,
            self.screen,
            Observers { watch: Some(super::live::watched), tap: None },
        )?;
        super::crash::keep_ledger(&mut plan, &session.directory, self.screen)?;
        if self.interrupt.requests() > 0 {
            // Interrupted during setup: do not start the load.
            return self.abandon(session);
        }
        self.complete(plan, session)
    }

    /// Shows the figures, unless another rank does; of several nodes those of all. Whether none of what is shown
    /// failed.
    fn show(&self, summary: &Summary, directory: &Path) -> bool {
        if let Some(all) = self.other_ranks.and_then(|other_ranks| other_ranks.figures_of_all(summary, directory)) {
            self.showing.show_set(&all, self.screen);
            return all.is_clean();
        }
        if self.other_ranks.is_none_or(OtherRanks::shows) {
            self.showing.show(summary, directory, self.screen);
        }
        summary.failures.iter().all(|failure| failure.count == 0)
    }

    /// Ends without having started the load.
    fn abandon(self, session: Session) -> Result<Outcome, Failure> {
        let directory = session.directory.clone();
        let closed = session.close(Ending::Interrupted, CLOSE_PATIENCE, |run| self.summarize(run))?;
        self.show(&closed.summary, &directory);
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
        let mut is_clean = true;
        let closed = session.close(driven.ending, patience, |run| self.summarize(run)).map(|closed| {
            is_clean = self.show(&closed.summary, &directory);
            closed.take_down(patience / 2, self.screen)
        });
        let (ending, complaint) = (driven.ending, driven.complaint.clone());
        self.remove_data(driven);
        let (summary, incomplete) = closed?;
        let exit = exit(ending, complaint, (is_clean, &summary), incomplete, &directory, self.screen)?;
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
        let others = self.other_ranks.map(OtherRanks::others);
        let mut conductor = Conductor::start_among(plan, &launch, others).map_err(Failure::machine)?;
        self.other_ranks.iter().for_each(|other_ranks| other_ranks.join(&conductor, &launch));
        let data = register_data(conductor.plan(), &self.request, self.register)?;
        let (ending, complaint) = drive(&mut conductor, session, self.interrupt, self.screen);
        Ok(Driven { conductor, data, ending, complaint })
    }

    fn remove_data(&self, mut driven: Driven) {
        let (register, screen) = (self.register, self.screen);
        let interrupted = driven.ending == Ending::Interrupted;
        // The load may proceed now that the throttled device is gone.
        if !is_gone_within(&mut driven.conductor, if interrupted { LAST_PATIENCE } else { LAST_PATIENCE * 20 }) {
            let files = if driven.data.is_empty() { "" } else { "; the next run of stallscope removes their files" };
            screen
                .warning(&format!("threads of the load are stuck in the kernel and end once it releases them{files}"));
            return;
        }
        self.other_ranks.iter().for_each(|other_ranks| other_ranks.wait_for_all());
        if !driven.data.is_empty() {
            screen.spin("removing the data set");
        }
        let patience = if interrupted { REMOVAL_PATIENCE } else { Duration::MAX };
        for leftover in register.undo_all_within(driven.data, patience).iter().filter(|removed| !removed.complete) {
            screen.warning(&leftover.to_string());
        }
        screen.rest();
    }
}

pub(super) fn plan(request: &RunRequest) -> Result<Plan, Failure> {
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
    super::crash::find_ledger(&mut plan)?;
    plan.refuse_impossible_direct_io();
    Ok(plan)
}

pub(super) fn show_plan(plan: &Plan, request: &RunRequest, screen: &Screen) -> Result<Outcome, Failure> {
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
    let fills = plan.placement.as_ref().is_none_or(RankPlacement::fills);
    if request.args.keep || plan.after_crash || !fills {
        return Ok(Vec::new());
    }
    let enter = |path: &PathBuf| {
        register.enter(Resource::Directory { path: path.clone(), marker: load::data::MARKER.to_owned() })
    };
    plan.data_directories.iter().map(enter).collect::<Result<_, _>>().map_err(Failure::machine)
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
    (is_clean, summary): (bool, &Summary),
    incomplete: Option<Failure>,
    directory: &Path,
    screen: &Screen,
) -> Result<Exit, Failure> {
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
        (Ending::Done, None) if !is_clean => Ok(Exit::FoundErrors),
        // What was lost is in the output.
        (Ending::Done, None) => Ok(Integrity::of_recorded(directory, summary).exit()),
    }
}
