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

use crate::commands::record::args::RecordArgs;
use crate::reading::{explanation, summary};
use crate::recording::machine::{self, Intent};
use crate::recording::session::Session;
use crate::ui::failure::{Exit, Failure};
use crate::ui::interrupt::Interrupt;
use crate::ui::screen::Screen;

const POLL: Duration = Duration::from_millis(100);
/// How long a command may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(2);

/// Records, and shows the summary.
pub fn record(args: RecordArgs) -> Result<Exit, Failure> {
    if let Some(ring_ns) = args.flight.ring {
        return self::flight::fly(&args, ring_ns);
    }
    refuse_missing(&args.command)?;
    let recording = &args.recording;
    let screen = Screen::new(recording.output.json, recording.output.quiet);
    let interrupt = Interrupt::install()?;
    let register = machine::register(|remark| screen.remark(remark)).map_err(Failure::machine)?;
    let intent = Intent {
        workload: name_of(&args.command),
        sample_interval_ns: recording.interval,
        report_interval_ns: None,
        slower_than_ns: recording.slower_than,
        trace: machine::trace_options(recording),
        seed: None,
        recipe: None,
        configuration: args.recording.configuration.clone(),
    };
    let under_test = if args.device_of.is_empty() { vec![PathBuf::from(".")] } else { args.device_of.clone() };
    // Only a slowed device is under test here; what a command writes to is its own affair.
    let slowed = recording.disk_bps.or(recording.disk_iops).is_some();
    let under_test = if slowed { under_test } else { Vec::new() };
    let mut session = Session::open(recording, intent, &under_test, &register, &screen, None)?;
    if interrupt.requests() > 0 {
        // What a recording needs was built meanwhile; the command need not begin.
        let watched = Watched { ending: Ending::Interrupted, status: None };
        return finish(watched, session, &args, &interrupt, &screen);
    }
    let child = match start(&args.command, session.cgroup_procs(), recording.output.json) {
        Ok(child) => child,
        Err(failure) => {
            let _ = session.close(Ending::LoadFailed, GRACE, |directory| {
                summary::summary(directory, |warning| screen.warning(warning))
            });
            return Err(failure);
        }
    };
    let watched = watch(child, args.runtime, &mut session, &interrupt, &screen);
    screen.rest();
    finish(watched, session, &args, &interrupt, &screen)
}

fn name_of(command: &[OsString]) -> String {
    let Some(program) = command.first() else { return "record".to_owned() };
    let program = PathBuf::from(program);
    program.file_name().map_or_else(|| "record".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// A command that is not there is refused before anything is made for it.
fn refuse_missing(command: &[OsString]) -> Result<(), Failure> {
    let Some(program) = command.first() else { return Ok(()) };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_path = program.as_encoded_bytes().contains(&b'/');
    let is_there = match is_path {
        true => Path::new(program).exists(),
        false => std::env::split_paths(&path).any(|folder| folder.join(program).exists()),
    };
    let place = if is_path { "there is no such file" } else { "it is in no directory of PATH" };
    let missing = || Failure::usage(format_args!("cannot start '{}': {place}", program.to_string_lossy()));
    if is_there { Ok(()) } else { Err(missing()) }
}

/// The command goes through a process of ours that enters the box before it becomes the command.
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
        // Standard output belongs to the document.
        starter.stdout(std::io::stderr());
    }
    let started = starter.spawn();
    started
        .map(Some)
        .map_err(|error| Failure::usage(format_args!("cannot start '{}': {error}", program.to_string_lossy())))
}

/// How the recording came to its end.
struct Watched {
    ending: Ending,
    status: Option<ExitStatus>,
}

fn watch(
    mut child: Option<Child>,
    runtime_ns: Option<u64>,
    session: &mut Session,
    interrupt: &Interrupt,
    screen: &Screen,
) -> Watched {
    let begin = Instant::now();
    let mut shown = None;
    let mut is_full = false;
    loop {
        if let Some(status) = child.as_mut().and_then(|child| child.try_wait().ok().flatten()) {
            // A terminal's Ctrl-C reaches the command, too, which may be the quicker one.
            let ending = match interrupt.requests() {
                0 if is_full => Ending::ArchiveFull,
                0 => Ending::Done,
                _ => Ending::Interrupted,
            };
            return Watched { ending, status: Some(status) };
        }
        let lasted_ns = begin.elapsed().as_nanos() as u64;
        let time_is_up = runtime_ns.is_some_and(|runtime_ns| lasted_ns >= runtime_ns);
        if !is_full && session.archive_is_full(screen) {
            is_full = true;
            // A person's command is worth more than its recording.
            child.iter().for_each(|_| screen.warning("the command goes on without being recorded"));
        }
        let ending = if interrupt.requests() > 0 {
            // Without a command, Ctrl-C is how a recording ends.
            Some(if child.is_some() { Ending::Interrupted } else { Ending::Done })
        } else if is_full && (child.is_none() || time_is_up) {
            Some(Ending::ArchiveFull)
        } else {
            time_is_up.then_some(Ending::Done)
        };
        if let Some(ending) = ending {
            let status = child.as_mut().and_then(|child| end(child, interrupt));
            let status = status.filter(|_| !time_is_up);
            return Watched { ending, status };
        }
        if shown != Some(lasted_ns / 1_000_000_000) {
            shown = Some(lasted_ns / 1_000_000_000);
            let lasted = Nanoseconds(lasted_ns / 1_000_000_000 * 1_000_000_000);
            screen.doing(format!("recording for {lasted}{}", session.tell_blocked(screen)));
        }
        std::thread::sleep(POLL);
    }
}

/// Asks a command to end, then makes it. One that is stuck in the kernel is left behind.
fn end(child: &mut Child, interrupt: &Interrupt) -> Option<ExitStatus> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw)?;
    let _ = kill_process(pid, Signal::TERM);
    let asked = Instant::now();
    let mut killed = false;
    while asked.elapsed() < GRACE {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if !killed && (asked.elapsed() > GRACE / 2 || interrupt.requests() > 1) {
            killed = child.kill().is_ok();
        }
        std::thread::sleep(POLL);
    }
    None
}

fn finish(
    watched: Watched,
    session: Session,
    args: &RecordArgs,
    interrupt: &Interrupt,
    screen: &Screen,
) -> Result<Exit, Failure> {
    let complaint = watched
        .status
        .filter(|status| !status.success())
        .map(|status| format!("'{}' ended with {status}", args.command[0].to_string_lossy()));
    if let Some(text) = &complaint {
        session.recorder.event(RunEvent::Note { at_ns: clock::monotonic_ns(), text: text.clone() });
    }
    let path = session.directory.clone();
    let directory = path.display().to_string();
    let closed = session
        .close(watched.ending, GRACE, |directory| summary::summary(directory, |warning| screen.warning(warning)))?;
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
        explanation::tell_briefly(&path, interrupt.requests() > 0, screen);
    }
    match (watched.ending, complaint) {
        (Ending::Interrupted, _) => Ok(Exit::Interrupted),
        (_, Some(complaint)) => Err(Failure::found(complaint)),
        (Ending::ArchiveFull, None) => Err(Failure::machine(format_args!(
            "the disk of {directory} is full; what was recorded until then is whole"
        ))),
        (_, None) => Ok(Exit::Done),
    }
}
