//! `record`: the machine while a command runs, or until Ctrl-C.

pub mod args;
mod flight;

use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use explain::blame::Scope;
use explain::summary::Summary;
use model::event::{Ending, RunEvent};
use model::quantity::Nanoseconds;
use record::clock;
use report::style::printable;
use rig::Register;

use self::args::RecordArgs;
use crate::reading::integrity::Integrity;
use crate::reading::{explanation, summary};
use crate::recording::command::{self, Streams};
use crate::recording::machine::{self, Intent};
use crate::recording::output_metric::OutputReader;
use crate::recording::recorder::CALM_PATIENCE;
use crate::recording::session::{Observers, Session};
use crate::ui::failure::{Exit, Failure};
use crate::ui::interrupt::Interrupt;
use crate::ui::screen::Screen;

/// Interval of looks at what is slow.
const POLL: Duration = Duration::from_millis(100);
/// Where nothing is to be shown in between.
const POLL_QUIET: Duration = Duration::from_millis(250);
/// Time that the archive has to close.
const GRACE: Duration = Duration::from_secs(2);
/// The name of a run without a command.
const NAME: &str = "record";
/// For the last look at the waits of a command that is ended.
const LAST_LOOK: Duration = Duration::from_millis(500);

/// Records, and prints the summary.
pub fn record(args: RecordArgs) -> Result<Exit, Failure> {
    if let Some(ring_ns) = args.flight.ring {
        return flight::fly(&args, ring_ns);
    }
    refuse_unusable(&args)?;
    let recording = &args.recording;
    let screen = match args.command.is_empty() {
        true => Screen::new(recording.output.json, recording.output.quiet),
        false => Screen::beside_a_command(recording.output.quiet),
    };
    let interrupt = Interrupt::install()?;
    let register = machine::register(|remark| screen.remark(remark)).map_err(Failure::machine)?;
    let (mut session, scope) = open(&args, &register, &screen)?;
    session.report_slowest_within(&scope);
    if interrupt.requests() > 0 {
        // Interrupted during setup: do not start the command.
        let outcome = Outcome { ending: Ending::Interrupted, status: None, is_cut: false };
        return finish(outcome, session, (&args, scope), &interrupt, &screen);
    }
    let mut child = match command::start(&args.command, session.cgroup_procs(), streams(&args)) {
        Ok(child) => child,
        Err(failure) => {
            session.abandon(GRACE);
            return Err(failure);
        }
    };
    let start_reader = |child: &mut Child| OutputReader::start(&args.metric, child, recording.output.json);
    let output = child.as_mut().map(start_reader).unwrap_or_default();
    let outcome = watch(child, args.runtime, &mut session, &interrupt, &screen);
    screen.rest();
    report_cut(&outcome, &args, &session, &screen);
    let (figures, missing) = output.finish();
    figures.into_iter().for_each(|figure| session.recorder.event(figure));
    for metric in missing {
        screen.warning(&format!("--metric {metric}: not found in the command's output"));
    }
    finish(outcome, session, (&args, scope), &interrupt, &screen)
}

/// Starts recording; the scope is that of the explanation at the end.
fn open(args: &RecordArgs, register: &Register, screen: &Screen) -> Result<(Session, Scope), Failure> {
    let recording = &args.recording;
    let name = command::name_of(&args.command).unwrap_or_else(|| NAME.to_owned());
    let intent =
        Intent { under_test: command::likely_used(&args.command, &args.device_of), ..Intent::new(&name, recording) };
    let session = Session::open(recording, intent, &under_test(args), register, screen, Observers::default())?;
    match args.scope.of_recorded(&session.description) {
        Ok(scope) => Ok((session, scope)),
        Err(failure) => {
            session.abandon(GRACE);
            Err(failure)
        }
    }
}

/// The directories whose devices are throttled. Without throttling nothing is under test: what a command writes to is
/// unknown.
fn under_test(args: &RecordArgs) -> Vec<PathBuf> {
    if args.recording.disk_bps.or(args.recording.disk_iops).is_none() {
        return Vec::new();
    }
    if args.device_of.is_empty() { vec![PathBuf::from(".")] } else { args.device_of.clone() }
}

/// Refuses directories and commands that cannot be used before anything is set up for them.
fn refuse_unusable(args: &RecordArgs) -> Result<(), Failure> {
    if let Some(missing) = args.device_of.iter().find(|directory| !directory.is_dir()) {
        return Err(Failure::usage(format_args!("--device-of {}: not a directory", missing.display())));
    }
    if args.recording.output.json && args.scope.is_given() {
        return Err(Failure::usage(
            "--device, --cgroup, --comm, --pid and --path limit the explanation at the end, which --json does not \
             print: pass them to 'stallscope explain RUN --json'",
        ));
    }
    command::refuse_unusable(&args.command)
}

fn streams(args: &RecordArgs) -> Streams {
    match (args.metric.is_empty(), args.recording.output.json) {
        (false, _) => Streams::Piped,
        (true, true) => Streams::Stderr,
        (true, false) => Streams::Own,
    }
}

/// How the recording ended.
struct Outcome {
    ending: Ending,
    status: Option<ExitStatus>,
    /// Whether `--runtime` ended the command.
    is_cut: bool,
}

fn watch(
    mut child: Option<Child>,
    runtime_ns: Option<u64>,
    session: &mut Session,
    interrupt: &Interrupt,
    screen: &Screen,
) -> Outcome {
    let begin = Instant::now();
    let (mut shown, mut is_full) = (None, false);
    let exit = child.as_ref().and_then(command::exit_of);
    let pause = if screen.is_quiet() { POLL_QUIET } else { POLL };
    loop {
        if let Some(status) = child.as_mut().and_then(|child| child.try_wait().ok().flatten()) {
            return Outcome { ending: ending_of_command(interrupt, is_full), status: Some(status), is_cut: false };
        }
        let lasted_ns = begin.elapsed().as_nanos() as u64;
        let time_is_up = runtime_ns.is_some_and(|runtime_ns| lasted_ns >= runtime_ns);
        if !is_full && session.archive_is_full(screen) {
            is_full = true;
            // The user's command is worth more than its recording.
            child.iter().for_each(|_| screen.warning("the command continues without being recorded"));
        }
        if let Some(ending) = reason_to_stop(child.is_some(), time_is_up, interrupt, is_full) {
            child.iter().for_each(|_| session.recorder.stop_tracing(LAST_LOOK));
            let status = child.as_mut().and_then(|child| command::end(child, interrupt));
            let is_cut = time_is_up && interrupt.requests() == 0 && child.is_some();
            return Outcome { ending, status: status.filter(|_| !time_is_up), is_cut };
        }
        let lasted_s = lasted_ns / 1_000_000_000;
        let slowest = session.report_slowest(screen).to_owned();
        if shown.as_ref() != Some(&(lasted_s, slowest.clone())) {
            let lasted = Nanoseconds(lasted_s * 1_000_000_000);
            let blocked = session.report_blocked(screen);
            screen.doing(format!("recording for {lasted}{blocked}{slowest}"));
            shown = Some((lasted_s, slowest));
        }
        let left_ns = runtime_ns.map_or(u64::MAX, |runtime_ns| runtime_ns.saturating_sub(lasted_ns));
        command::wait(exit.as_ref(), pause.min(Duration::from_nanos(left_ns)));
    }
}

/// Says that `--runtime` ended the command, which would have gone on.
fn report_cut(outcome: &Outcome, args: &RecordArgs, session: &Session, screen: &Screen) {
    if let (true, Some(name), Some(runtime_ns)) = (outcome.is_cut, command::name_of(&args.command), args.runtime) {
        let text = format!("--runtime ended '{}' after {}", printable(&name), Nanoseconds(runtime_ns));
        screen.news(&text);
        session.recorder.event(RunEvent::Note { at_ns: clock::monotonic_ns(), text });
    }
}

/// A terminal's Ctrl-C also reaches the command, which may end first.
fn ending_of_command(interrupt: &Interrupt, archive_is_full: bool) -> Ending {
    match interrupt.requests() {
        0 if archive_is_full => Ending::ArchiveFull,
        0 => Ending::Done,
        _ => Ending::Interrupted,
    }
}

fn reason_to_stop(has_command: bool, time_is_up: bool, interrupt: &Interrupt, archive_is_full: bool) -> Option<Ending> {
    if interrupt.requests() > 0 {
        // Without a command, Ctrl-C is the normal way to stop.
        Some(if has_command { Ending::Interrupted } else { Ending::Done })
    } else if archive_is_full && (!has_command || time_is_up) {
        Some(Ending::ArchiveFull)
    } else {
        time_is_up.then_some(Ending::Done)
    }
}

/// Nobody waits for a recording that ends as planned.
fn patience(interrupt: &Interrupt) -> Duration {
    if interrupt.requests() > 0 { GRACE } else { CALM_PATIENCE }
}

fn finish(
    outcome: Outcome,
    session: Session,
    (args, scope): (&RecordArgs, Scope),
    interrupt: &Interrupt,
    screen: &Screen,
) -> Result<Exit, Failure> {
    let complain =
        |status: ExitStatus| (status, format!("'{}' ended with {status}", args.command[0].to_string_lossy()));
    let complaint = outcome.status.filter(|status| !status.success()).map(complain);
    if let Some((_, text)) = &complaint {
        session.recorder.event(RunEvent::Note { at_ns: clock::monotonic_ns(), text: text.clone() });
    }
    let path = session.directory.clone();
    let directory = path.display().to_string();
    let summarize = |directory: &Path| summary::summary(directory, |warning| screen.warning(warning));
    let closed = session.close(outcome.ending, patience(interrupt), summarize)?;
    let integrity = show(&closed.summary, &path, args.recording.output.json, screen);
    let (_, incomplete) = closed.take_down(GRACE, screen);
    if !args.recording.output.json {
        explanation::print_brief(&path, scope, interrupt.requests() > 0, screen);
    }
    let archive_is_full = (outcome.ending == Ending::ArchiveFull).then(|| {
        Failure::machine(format_args!("the disk of {directory} is full; what was recorded before is complete"))
    });
    let is_interrupted = outcome.ending == Ending::Interrupted;
    match (complaint, incomplete.or(archive_is_full)) {
        (_, None) if is_interrupted => Ok(Exit::Interrupted),
        (Some(complaint), ours) => command_failed(complaint, ours, args.recording.output.quiet, screen),
        (None, Some(ours)) => Err(ours),
        (None, None) => Ok(integrity.exit()),
    }
}

/// Shows the summary, and what the recording lost.
fn show(summary: &Summary, directory: &Path, json: bool, screen: &Screen) -> Integrity {
    let (integrity, name) = (Integrity::of_recorded(directory, summary), directory.display().to_string());
    if screen.is_quiet() {
        integrity.warn(screen);
    }
    if json {
        screen.json(&integrity.added(report::json::summary(&name, summary)));
    } else {
        let style = screen.style();
        screen.result(&(integrity.banner(style) + &report::summary::text(&name, summary, style)));
    }
    integrity
}

/// The command's failure goes before ours. With -q the program is invisible beside the command.
fn command_failed(
    (status, complaint): (ExitStatus, String),
    ours: Option<Failure>,
    quiet: bool,
    screen: &Screen,
) -> Result<Exit, Failure> {
    ours.iter().for_each(|failure| screen.warning(&failure.to_string()));
    if quiet { Ok(Exit::of_command(status)) } else { Err(Failure::of_command(status, complaint)) }
}
