//! One trial: set up, run, and read back from disk.

use std::path::PathBuf;
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

use model::event::{Ending, RunEvent};
use model::trial::TrialPlan;
use record::clock;
use rig::Register;

use super::args::TrialArgs;
use super::changes::Changes;
use super::conduct::{Conduct, Early};
use super::evaluation::{self, Evaluation};
use super::guards::Guards;
use super::preview;
use crate::reading::summary;
use crate::recording::command::{self, Streams};
use crate::recording::machine::Intent;
use crate::recording::output_metric::OutputReader;
use crate::recording::session::{Observers, Session};
use crate::recording::watchdog::Watchdog;
use crate::ui::failure::{Exit, Failure};
use crate::ui::interrupt::Interrupt;
use crate::ui::screen::Screen;

/// Time that the archive has to close after Ctrl-C.
const GRACE: Duration = Duration::from_secs(2);
/// The same where nobody waits: a trial of minutes is not lost to a disk that stalls, which may be the one under test.
const PATIENCE: Duration = Duration::from_secs(30);
/// The name of a trial without a command.
const NAME: &str = "trial";

/// What every trial of this program needs.
pub(super) struct Context<'a> {
    pub(super) screen: &'a Screen,
    pub(super) interrupt: &'a Interrupt,
    pub(super) register: &'a Register,
}

/// The plan of a trial as JSON.
pub(super) fn planned(args: &TrialArgs, context: &Context<'_>) -> Result<serde_json::Value, Failure> {
    let changes = Changes::find(args, context.register)?;
    let plan = preview::plan(args, &changes, args.seed.unwrap_or_else(clock::monotonic_ns))?;
    Ok(preview::json(&plan, &args.guard))
}

/// Runs a trial. `None`: it was only planned.
pub(super) fn perform(args: &TrialArgs, context: &Context<'_>) -> Result<Option<Finished>, Failure> {
    let Context { screen, interrupt, register } = *context;
    let mut changes = Changes::find(args, register)?;
    let plan = preview::plan(args, &changes, args.seed.unwrap_or_else(clock::monotonic_ns))?;
    if args.dry_run {
        if !args.recording.output.json {
            screen.result(&preview::text(&plan, &args.guard));
        }
        return Ok(None);
    }
    screen.remark(preview::text(&plan, &args.guard).trim_end());
    if changes.change_nothing() {
        screen.warning("each setting has its value already: this trial compares A with A");
    }
    let watchdog = Watchdog::start(Duration::ZERO)?;
    changes.probe()?;
    let performance = Performance { args, plan: &plan, screen, interrupt };
    let finished = performance.run(&mut changes, register);
    changes.undo();
    watchdog.dismiss();
    finished.map(Some)
}

/// A trial that ended, as read back from disk.
pub(super) struct Finished {
    run: String,
    pub(super) evaluation: Evaluation,
    /// Why it ended early.
    ended: Option<String>,
    /// What could not be restored.
    left: Vec<String>,
    pub(super) exit: Exit,
}

impl Finished {
    fn found(&self) -> report::trial::Trial<'_> {
        report::trial::Trial {
            run: &self.run,
            plan: &self.evaluation.plan,
            outcome: &self.evaluation.outcome,
            ended: self.ended.as_deref(),
            left: &self.left,
        }
    }

    pub(super) fn document(&self) -> serde_json::Value {
        self.evaluation.integrity.added(report::trial::json(&self.found(), &self.evaluation.table))
    }

    pub(super) fn print(&self, args: &TrialArgs, screen: &Screen) {
        let style = screen.style();
        screen.result(&(self.evaluation.integrity.banner(style) + &report::trial::text(&self.found(), style)));
        if !args.recording.output.quiet {
            screen.remark(&format!("recorded in {0}: stallscope explain {0}", self.run));
        }
    }
}

/// A trial whose changes were found possible.
struct Performance<'a> {
    args: &'a TrialArgs,
    plan: &'a TrialPlan,
    screen: &'a Screen,
    interrupt: &'a Interrupt,
}

impl Performance<'_> {
    fn run(&self, changes: &mut Changes, register: &Register) -> Result<Finished, Failure> {
        let (args, screen) = (self.args, self.screen);
        let guards = Arc::new(Guards::new(&args.guard, self.plan.of_command));
        let mut session = self.open(register, &guards)?;
        let mut child = match command::start(&args.command, session.cgroup_procs(), self.streams()) {
            Ok(child) => child,
            Err(failure) => {
                session.abandon(GRACE);
                return Err(failure);
            }
        };
        let start_reader = |child: &mut Child| OutputReader::start(&args.metric, child, args.recording.output.json);
        let output = child.as_mut().map(start_reader).unwrap_or_default();
        output.keep_all();
        let began = RunEvent::TrialBegan { at_ns: clock::monotonic_ns(), plan: self.plan.clone() };
        session.recorder.event(began);
        let conduct = Conduct {
            plan: self.plan,
            changes,
            guards: &guards,
            session: &mut session,
            child: &mut child,
            output: &output,
            interrupt: self.interrupt,
            screen,
        };
        let (early, left) = conduct.run();
        child.as_mut().and_then(|child| command::end(child, self.interrupt));
        output.finish();
        screen.rest();
        self.finish(session, early, left)
    }

    fn open(&self, register: &Register, guards: &Arc<Guards>) -> Result<Session, Failure> {
        let recording = &self.args.recording;
        let name = command::name_of(&self.args.command).unwrap_or_else(|| NAME.to_owned());
        let under_test = command::likely_used(&self.args.command, &[]);
        let intent = Intent { under_test, ..Intent::new(&name, recording) };
        let throttled = recording.disk_bps.or(recording.disk_iops).map(|_| PathBuf::from("."));
        let observers = Observers { watch: None, tap: Some(Arc::clone(guards) as _) };
        Session::open(recording, intent, throttled.as_slice(), register, self.screen, observers)
    }

    fn streams(&self) -> Streams {
        match (self.args.metric.is_empty(), self.args.recording.output.json) {
            (false, _) => Streams::Piped,
            (true, true) => Streams::Stderr,
            (true, false) => Streams::Own,
        }
    }

    /// Closes the run, and reads back what it holds.
    fn finish(&self, session: Session, early: Option<Early>, left: Vec<String>) -> Result<Finished, Failure> {
        let screen = self.screen;
        let directory = session.directory.clone();
        let ending = early.as_ref().map_or(Ending::Done, Early::ending);
        let grace = if matches!(early, Some(Early::Interrupted)) { GRACE } else { PATIENCE };
        let closed =
            session.close(ending, grace, |directory| summary::summary(directory, |warning| screen.warning(warning)))?;
        let evaluation = evaluation::evaluate(&directory, self.args.margin, |warning| screen.warning(warning));
        let (_, incomplete) = closed.take_down(GRACE, screen);
        let evaluation = evaluation?;
        if let Some(failure) = incomplete {
            return Err(failure);
        }
        let exit = match &early {
            Some(Early::Interrupted) if left.is_empty() => Exit::Interrupted,
            None if left.is_empty() => evaluation.integrity.exit(),
            _ => Exit::FoundErrors,
        };
        let ended = early.as_ref().map(Early::why);
        Ok(Finished { run: directory.display().to_string(), evaluation, ended, left, exit })
    }
}
