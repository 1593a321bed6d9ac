//! `record`: the machine while a command runs, or until Ctrl-C.

pub mod args;
mod flight;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use model::event::{Ending, RunEvent};
use model::quantity::Nanoseconds;
use record::clock;
use rustix::process::{Pid, Signal, kill_process};

use self::args::RecordArgs;
use crate::reading::{explanation, summary};
use crate::recording::machine::{self, Intent};
use crate::recording::session::Session;
use crate::ui::failure::{Exit, Failure};
use crate::ui::interrupt::Interrupt;
use crate::ui::screen::Screen;

const POLL: Duration = Duration::from_millis(100);
/// Time that a command has to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);
/// The name of a run without a command.
const NAME: &str = "record";

/// Records, and prints the summary.
pub fn record(args: RecordArgs) -> Result<Exit, Failure> {
    if let Some(ring_ns) = args.flight.ring {
        return flight::fly(&args, ring_ns);
    }
    refuse_missing(&args.command)?;
    let recording = &args.recording;
    let screen = Screen::new(recording.output.json, recording.output.quiet);
    let interrupt = Interrupt::install()?;
    let register = machine::register(|remark| screen.remark(remark)).map_err(Failure::machine)?;
    let intent = Intent::new(&name_of(&args.command), recording);
    let mut session = Session::open(recording, intent, &under_test(&args), &register, &screen, None)?;
    if interrupt.requests() > 0 {
        // Interrupted during setup: do not start the command.
        let outcome = Outcome { ending: Ending::Interrupted, status: None };
        return finish(outcome, session, &args, &interrupt, &screen);
    }
    let child = match start(&args.command, session.cgroup_procs(), recording.output.json) {
        Ok(child) => child,
        Err(failure) => {
            let summarize = |directory: &Path| summary::summary(directory, |warning| screen.warning(warning));
            let _ = session.close(Ending::LoadFailed, GRACE, summarize);
            return Err(failure);
        }
    };
    let outcome = watch(child, args.runtime, &mut session, &interrupt, &screen);
    screen.rest();
    finish(outcome, session, &args, &interrupt, &screen)
}

/// The directories whose devices are throttled. Without throttling nothing is under test: what a command writes to is
/// unknown.
fn under_test(args: &RecordArgs) -> Vec<PathBuf> {
    if args.recording.disk_bps.or(args.recording.disk_iops).is_none() {
        return Vec::new();
    }
    if args.device_of.is_empty() { vec![PathBuf::from(".")] } else { args.device_of.clone() }
}

fn name_of(command: &[OsString]) -> String {
    let file_name = |program: &OsString| Some(Path::new(program).file_name()?.to_string_lossy().into_owned());
    command.first().and_then(file_name).unwrap_or_else(|| NAME.to_owned())
}

/// Refuses a missing command before anything is set up for it.
fn refuse_missing(command: &[OsString]) -> Result<(), Failure> {
    let Some(program) = command.first() else { return Ok(()) };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_path = program.as_encoded_bytes().contains(&b'/');
    let exists = match is_path {
        true => Path::new(program).exists(),
        false => std::env::split_paths(&path).any(|folder| folder.join(program).exists()),
    };
    let why = if is_path { "no such file" } else { "not found in PATH" };
    let missing = || Failure::usage(format_args!("cannot start '{}': {why}", program.to_string_lossy()));
    if exists { Ok(()) } else { Err(missing()) }
}

/// Starts the command, through a helper process that enters the memory cgroup first.
fn start(command: &[OsString], cgroup_procs: &[PathBuf], json: bool) -> Result<Option<Child>, Failure> {
    let Some(program) = command.first() else { return Ok(None) };
    let mut starter = if cgroup_procs.is_empty() {
        let mut starter = Command::new(program);
        starter.args(&command[1..]);
        starter
    } else {
        let mut starter = Command::new("/proc/self/exe");
        starter.arg("__in-cgroup");
        for file in cgroup_procs {
            starter.arg("--cgroup-procs").arg(file);
        }
        starter.arg("--").args(command);
        starter
    };
    if json {
        // Standard output is reserved for the JSON document.
        starter.stdout(std::io::stderr());
    }
    let started = starter.spawn();
    started
        .map(Some)
        .map_err(|error| Failure::usage(format_args!("cannot start '{}': {error}", program.to_string_lossy())))
}

/// How the recording ended.
struct Outcome {
    ending: Ending,
    status: Option<ExitStatus>,
}

fn watch(
    mut child: Option<Child>,
    runtime_ns: Option<u64>,
    session: &mut Session,
    interrupt: &Interrupt,
    screen: &Screen,
) -> Outcome {
    let begin = Instant::now();
    let mut shown = None;
    let mut is_full = false;
    loop {
        if let Some(status) = child.as_mut().and_then(|child| child.try_wait().ok().flatten()) {
            return Outcome { ending: ending_of_command(interrupt, is_full), status: Some(status) };
        }
        let lasted_ns = begin.elapsed().as_nanos() as u64;
        let time_is_up = runtime_ns.is_some_and(|runtime_ns| lasted_ns >= runtime_ns);
        if !is_full && session.archive_is_full(screen) {
            is_full = true;
            // The user's command is worth more than its recording.
            child.iter().for_each(|_| screen.warning("the command continues without being recorded"));
        }
        if let Some(ending) = reason_to_stop(child.is_some(), time_is_up, interrupt, is_full) {
            let status = child.as_mut().and_then(|child| end(child, interrupt));
            return Outcome { ending, status: status.filter(|_| !time_is_up) };
        }
        let lasted_s = lasted_ns / 1_000_000_000;
        if shown.replace(lasted_s) != Some(lasted_s) {
            let lasted = Nanoseconds(lasted_s * 1_000_000_000);
            screen.doing(format!("recording for {lasted}{}", session.report_blocked(screen)));
        }
        std::thread::sleep(POLL);
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

/// Sends SIGTERM, then SIGKILL. A command stuck in the kernel is left behind.
fn end(child: &mut Child, interrupt: &Interrupt) -> Option<ExitStatus> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw)?;
    let _ = kill_process(pid, Signal::TERM);
    let requested = Instant::now();
    let mut killed = false;
    while requested.elapsed() < GRACE {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if !killed && (requested.elapsed() > GRACE / 2 || interrupt.requests() > 1) {
            killed = child.kill().is_ok();
        }
        std::thread::sleep(POLL);
    }
    None
}

fn finish(
    outcome: Outcome,
    session: Session,
    args: &RecordArgs,
    interrupt: &Interrupt,
    screen: &Screen,
) -> Result<Exit, Failure> {
    let complaint = outcome
        .status
        .filter(|status| !status.success())
        .map(|status| format!("'{}' ended with {status}", args.command[0].to_string_lossy()));
    if let Some(text) = &complaint {
        session.recorder.event(RunEvent::Note { at_ns: clock::monotonic_ns(), text: text.clone() });
    }
    let path = session.directory.clone();
    let directory = path.display().to_string();
    let closed = session
        .close(outcome.ending, GRACE, |directory| summary::summary(directory, |warning| screen.warning(warning)))?;
    let summary = &closed.summary;
    if args.recording.output.json {
        screen.json(&report::json::summary(&directory, summary));
    } else {
        screen.result(&report::summary::text(&directory, summary, screen.style()));
    }
    if let (_, Some(failure)) = closed.take_down(GRACE, screen) {
        return Err(failure);
    }
    if !args.recording.output.json {
        explanation::print_brief(&path, interrupt.requests() > 0, screen);
    }
    match (outcome.ending, complaint) {
        (Ending::Interrupted, _) => Ok(Exit::Interrupted),
        (_, Some(complaint)) => Err(Failure::found(complaint)),
        (Ending::ArchiveFull, None) => {
            Err(Failure::machine(format_args!("the disk of {directory} is full; what was recorded before is complete")))
        }
        (_, None) => Ok(Exit::Done),
    }
}
