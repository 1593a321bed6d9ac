//! The load process: what runs behind the program's hidden `__load` verb.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use crate::actor::{Place, Stage, perform};
use crate::board::{Board, Command, State};
use crate::clock;
use crate::data::Hold;
use crate::data::fill::{RandomBytes, fill, occupy_all};
use crate::error::LoadError;
use crate::job::Job;
use crate::ledger::Ledger;
use crate::plan::{Actor, Plan, Work};
use crate::recipe::PhaseKind;
use crate::sys;

/// How often the process looks for a command.
const LOOK_NS: u64 = 5_000_000;
/// How long it waits for its threads when it stops. Threads stuck in the kernel cannot be waited for.
const FAREWELL_NS: u64 = 1_000_000_000;
const ACTOR_STACK_BYTES: usize = 512 << 10;

#[derive(Debug, Default)]
struct Arguments {
    board: i32,
    parent: i32,
    cgroup_procs: Vec<PathBuf>,
}

/// Runs the load process to its end and returns its exit code. `arguments` are those after `__load`, as
/// [`crate::conductor::Conductor`] gives them; the plan comes on standard input as JSON.
///
/// The process dies with the thread that started it (PR_SET_PDEATHSIG).
pub fn main(arguments: impl Iterator<Item = OsString>) -> u8 {
    let complain = |message: &str| {
        let _ = writeln!(io::stderr(), "stallscope load process: {message}");
        1
    };
    let arguments = match parse(arguments) {
        Ok(arguments) => arguments,
        Err(message) => return complain(&message),
    };
    // Started through /proc/self/exe, it would be called so in every list of processes.
    let _ = std::fs::write("/proc/self/comm", "stallscope-load");
    sys::ignore_termination_signals();
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    if getppid().map(Pid::as_raw_pid) != Some(arguments.parent) {
        return complain("the program that started it is gone");
    }
    let joined = join_cgroups(&arguments.cgroup_procs);
    let (plan, board) = match attach(&arguments) {
        Ok(both) => both,
        Err(message) => return complain(&message),
    };
    if let Err(error) = joined {
        board.fail(&error.to_string());
        return 1;
    }
    run(plan, board)
}

fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Arguments, String> {
    let mut parsed = Arguments::default();
    while let Some(flag) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{flag:?} needs a value"))?;
        let number =
            || value.to_str().and_then(|text| text.parse().ok()).ok_or_else(|| format!("{value:?} is no number"));
        match flag.to_str() {
            Some("--board-fd") => parsed.board = number()?,
            Some("--parent") => parsed.parent = number()?,
            Some("--cgroup-procs") => parsed.cgroup_procs.push(PathBuf::from(value)),
            _ => return Err(format!("unknown argument {flag:?}")),
        }
    }
    Ok(parsed)
}

/// Enters the cgroups, before any memory is used that they should account for.
fn join_cgroups(files: &[PathBuf]) -> Result<(), LoadError> {
    let pid = std::process::id().to_string();
    files.iter().try_for_each(|file| {
        std::fs::write(file, &pid)
            .map_err(LoadError::process(format!("enter the memory box through {}", file.display())))
    })
}

fn attach(arguments: &Arguments) -> Result<(Plan, Board), String> {
    let plan: Plan =
        serde_json::from_reader(io::stdin().lock()).map_err(|error| format!("cannot read the plan: {error}"))?;
    let descriptor = sys::inherited(arguments.board).map_err(|error| format!("no board was handed over: {error}"))?;
    let board = Board::attach(std::os::fd::AsFd::as_fd(&descriptor), &plan).map_err(|error| error.to_string())?;
    Ok((plan, board))
}

fn run(plan: Plan, board: Board) -> u8 {
    let written = |work: &Work| if let Work::Transfer(transfer) = work { transfer.block_bytes } else { 0 };
    let longest = plan.actors.iter().flat_map(|a| &a.steps).map(|step| written(&step.work)).max().unwrap_or(0);
    let jobs = plan.actors.iter().filter_map(|actor| actor.job.as_ref());
    let longest = jobs.map(Job::longest_write).max().unwrap_or(0).max(longest);
    let bytes = RandomBytes::new(plan.seed, longest);
    let ledger = match ledger(&plan) {
        Ok(ledger) => ledger,
        Err(error) => {
            board.fail(&error.to_string());
            return 1;
        }
    };
    let stage = Arc::new(Stage { plan, board, bytes, ledger, living: AtomicU64::new(0) });
    stage.board.set_state(State::Ready);
    // Kept until the process ends: threads that are stuck in the kernel still use the data.
    let mut holds = Vec::new();
    let result = obey(&stage, &mut holds);
    if let Err(error) = result.as_ref() {
        stage.board.give(Command::Stop);
        if !matches!(error, LoadError::Stopped) {
            stage.board.fail(&error.to_string());
        }
    }
    let deadline_ns = clock::now_ns() + FAREWELL_NS;
    while stage.living.load(Ordering::Acquire) > 0 && clock::now_ns() < deadline_ns {
        clock::sleep_until_ns(clock::now_ns() + LOOK_NS);
    }
    match stage.board.state() {
        State::Failed => 1,
        _ => {
            stage.board.set_state(State::Done);
            0
        }
    }
}

/// The ledger of data that is stamped: a new one, or that of the run that was cut off.
fn ledger(plan: &Plan) -> Result<Option<Ledger>, LoadError> {
    if let (true, Some(path)) = (plan.after_crash, &plan.ledger) {
        return Ledger::open(path).map(Some);
    }
    let directories = plan.data_directories.len() as u64;
    let shape = |actor: &Actor| actor.job.as_ref()?.ledger_shape(plan.seed, actor.threads, directories);
    let shape = plan.actors.iter().find_map(shape);
    shape.map(|shape| Ledger::create(plan.ledger.as_deref(), shape)).transpose()
}

/// Follows the program's commands until it says stop.
fn obey(stage: &Arc<Stage>, holds: &mut Vec<Hold>) -> Result<(), LoadError> {
    let (mut current, mut started) = (None, false);
    if stage.plan.after_crash {
        holds.extend(occupy_all(&stage.plan)?);
    }
    loop {
        match stage.board.command() {
            Command::Stop => return Ok(()),
            Command::Phase { phase, turn } if current != Some(turn) => {
                current = Some(turn);
                let kind = stage.plan.phases.get(phase).map(|phase| phase.kind);
                if kind == Some(PhaseKind::Fill) {
                    holds.extend(fill(&stage.plan, &stage.board)?);
                    stage.ledger.iter().for_each(Ledger::set_filled);
                    stage.board.end_phase(phase);
                } else if !std::mem::replace(&mut started, true) {
                    start_actors(stage)?;
                }
            }
            Command::Wait | Command::Phase { .. } => clock::sleep_until_ns(clock::now_ns() + LOOK_NS),
        }
    }
}

fn start_actors(stage: &Arc<Stage>) -> Result<(), LoadError> {
    let mut thread = 0;
    let total = stage.plan.actor_threads();
    for (actor, described) in stage.plan.actors.iter().enumerate() {
        if !described.in_phase.contains(&true) {
            // Its phases are left out of this run: it would only look at the board now and then.
            thread += described.threads as usize;
            continue;
        }
        for ordinal in 0..described.threads {
            if stage.board.is_stopping() {
                return Ok(());
            }
            let place = Place { actor, ordinal, thread };
            thread += 1;
            if described.processes {
                start_process(stage, place, &described.name)?;
                continue;
            }
            let own_stage = Arc::clone(stage);
            let name: String = described.name.chars().take(15).collect();
            stage.living.fetch_add(1, Ordering::Relaxed);
            let builder = std::thread::Builder::new().name(name).stack_size(ACTOR_STACK_BYTES);
            let body = move || {
                perform(&own_stage, place);
                own_stage.living.fetch_sub(1, Ordering::Release);
            };
            if let Err(error) = builder.spawn(body) {
                stage.living.fetch_sub(1, Ordering::Relaxed);
                return Err(LoadError::process(format!("start thread {thread} of {total}"))(error));
            }
        }
    }
    Ok(())
}

/// Starts a process that takes the place of a thread, and a thread that waits for its end. It dies with this process.
fn start_process(stage: &Arc<Stage>, place: Place, name: &str) -> Result<(), LoadError> {
    let parent = std::process::id() as i32;
    let child = sys::fork(|| {
        let _ = set_parent_process_death_signal(Some(Signal::KILL));
        if getppid().map(Pid::as_raw_pid) != Some(parent) {
            return;
        }
        let _ = rustix::thread::set_name(&std::ffi::CString::new(name.as_bytes()).unwrap_or_default());
        perform(stage, place);
    });
    let child = child.map_err(LoadError::process(format!("start process {} of '{name}'", place.ordinal + 1)))?;
    let own_stage = Arc::clone(stage);
    stage.living.fetch_add(1, Ordering::Relaxed);
    let watch = move || {
        let status = rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty());
        if let Ok(Some((_, status))) = status
            && let Some(signal) = status.terminating_signal()
        {
            own_stage.board.fail(&format!("a process of the load was killed by signal {signal}"));
        }
        own_stage.living.fetch_sub(1, Ordering::Release);
    };
    let builder = std::thread::Builder::new().name("watch".to_owned()).stack_size(ACTOR_STACK_BYTES);
    builder.spawn(watch).map(|_| ()).map_err(LoadError::process("watch a process of the load"))
}
