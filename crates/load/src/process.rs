//! The load process: the program's hidden command `__load`.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use crate::actor::{Load, ledger, perform};
use crate::board::{Board, LoadCommand, ProcessState};
use crate::clock;
use crate::data::DirectoryLock;
use crate::error::LoadError;
use crate::fill::{fill, lock_all, shared_data};
use crate::plan::{Plan, RankPlacement};
use crate::recipe::PhaseKind;
use crate::sys;
use crate::work::ActorThread;
use crate::write_ledger::WriteLedger;

/// Poll interval for commands.
const LOOK_NS: u64 = 5_000_000;
/// How long a stopping process waits for its threads. Threads stuck in the kernel may never end.
const FAREWELL_NS: u64 = 1_000_000_000;
const ACTOR_STACK_BYTES: usize = 512 << 10;

#[derive(Debug, Default)]
struct LoadArguments {
    board: i32,
    parent: i32,
    cgroup_procs: Vec<PathBuf>,
}

/// Runs the load process to its end and returns its exit code. `arguments` are those after `__load`, as
/// [`crate::conductor::Conductor`] gives them; the plan comes on standard input as JSON. `give_up` takes from this
/// thread the privileges that a load does not need, before it starts others.
///
/// The process dies with the thread that started it (PR_SET_PDEATHSIG).
pub fn main(arguments: impl Iterator<Item = OsString>, give_up: impl FnOnce()) -> u8 {
    let complain = |message: &str| {
        let _ = writeln!(io::stderr(), "stallscope load process: {message}");
        1
    };
    let arguments = match parse(arguments) {
        Ok(arguments) => arguments,
        Err(message) => return complain(&message),
    };
    // Started through /proc/self/exe, the process would be named `exe`.
    let _ = std::fs::write("/proc/self/comm", "stallscope-load");
    sys::ignore_termination_signals();
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    if getppid().map(Pid::as_raw_pid) != Some(arguments.parent) {
        return complain("the parent program is gone");
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
    give_up();
    run(plan, board)
}

fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<LoadArguments, String> {
    let mut parsed = LoadArguments::default();
    while let Some(flag) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{flag:?} needs a value"))?;
        let number =
            || value.to_str().and_then(|text| text.parse().ok()).ok_or_else(|| format!("{value:?} is not a number"));
        match flag.to_str() {
            Some("--board-fd") => parsed.board = number()?,
            Some("--parent") => parsed.parent = number()?,
            Some("--cgroup-procs") => parsed.cgroup_procs.push(PathBuf::from(value)),
            _ => return Err(format!("unknown argument {flag:?}")),
        }
    }
    Ok(parsed)
}

/// Enters the cgroups before allocating memory that they must account for.
fn join_cgroups(files: &[PathBuf]) -> Result<(), LoadError> {
    let pid = std::process::id().to_string();
    files.iter().try_for_each(|file| {
        std::fs::write(file, &pid)
            .map_err(LoadError::process(format!("enter the memory cgroup through {}", file.display())))
    })
}

fn attach(arguments: &LoadArguments) -> Result<(Plan, Board), String> {
    let plan: Plan =
        serde_json::from_reader(io::stdin().lock()).map_err(|error| format!("cannot read the plan: {error}"))?;
    let descriptor = sys::inherited(arguments.board).map_err(|error| format!("no board was inherited: {error}"))?;
    let board =
        Board::attach(std::os::fd::AsFd::as_fd(&descriptor), plan.board_shape()).map_err(|error| error.to_string())?;
    Ok((plan, board))
}

fn run(plan: Plan, board: Board) -> u8 {
    let ledger = match ledger(&plan) {
        Ok(ledger) => ledger,
        Err(error) => {
            board.fail(&error.to_string());
            return 1;
        }
    };
    let load = Arc::new(Load::new(plan, board, ledger));
    load.context.board.set_state(ProcessState::Ready);
    let result = obey(&load);
    if let Err(error) = result.as_ref() {
        load.context.board.give(LoadCommand::Stop);
        if !matches!(error, LoadError::Stopped) {
            load.context.board.fail(&error.to_string());
        }
    }
    let deadline_ns = clock::now_ns() + FAREWELL_NS;
    while load.living.load(Ordering::Acquire) > 0 && clock::now_ns() < deadline_ns {
        clock::sleep_until_ns(clock::now_ns() + LOOK_NS);
    }
    match load.context.board.state() {
        ProcessState::Failed => 1,
        _ => {
            load.context.board.set_state(ProcessState::Done);
            0
        }
    }
}

/// Executes the program's commands until it stops the load.
fn obey(load: &Arc<Load>) -> Result<(), LoadError> {
    let hold = |locked: Vec<DirectoryLock>| drop(load.context.held.set(locked));
    let (mut current, mut started) = (None, false);
    let fills = load.plan.placement.as_ref().is_none_or(RankPlacement::fills);
    if load.plan.after_crash {
        hold(lock_all(&load.plan.data_set())?);
    }
    loop {
        match load.context.board.command() {
            LoadCommand::Stop => return Ok(()),
            LoadCommand::Phase { phase, sequence } if current != Some(sequence) => {
                current = Some(sequence);
                let kind = load.plan.phases.get(phase).map(|phase| phase.kind);
                if kind == Some(PhaseKind::Fill) && !fills {
                    continue;
                }
                if kind == Some(PhaseKind::Fill) {
                    hold(fill(&load.plan.data_set(), &load.context.board)?);
                    load.context.ledger.iter().for_each(WriteLedger::set_filled);
                    load.context.board.end_phase(phase);
                } else if !std::mem::replace(&mut started, true) {
                    if !fills {
                        hold(shared_data(&load.plan.data_set())?);
                    }
                    start_actors(load)?;
                }
            }
            LoadCommand::Wait | LoadCommand::Phase { .. } => clock::sleep_until_ns(clock::now_ns() + LOOK_NS),
        }
    }
}

fn start_actors(load: &Arc<Load>) -> Result<(), LoadError> {
    let mut index = 0;
    let total = load.plan.actor_threads();
    for (actor, described) in load.plan.actors.iter().enumerate() {
        if !described.in_phase.contains(&true) {
            // None of its phases runs, so it would only poll the board.
            index += described.threads as usize;
            continue;
        }
        for ordinal in 0..described.threads {
            if load.context.board.is_stopping() {
                return Ok(());
            }
            let thread = ActorThread { actor, ordinal, index };
            index += 1;
            if load.plan.placement.as_ref().is_some_and(|placement| !placement.is_own(ordinal)) {
                continue;
            }
            // With a part, this process is the one of its rank.
            if described.processes && load.plan.placement.is_none() {
                start_process(load, thread, &described.name)?;
                continue;
            }
            let own_load = Arc::clone(load);
            let name: String = described.name.chars().take(15).collect();
            load.living.fetch_add(1, Ordering::Relaxed);
            let builder = std::thread::Builder::new().name(name).stack_size(ACTOR_STACK_BYTES);
            let body = move || {
                perform(&own_load, thread);
                own_load.living.fetch_sub(1, Ordering::Release);
            };
            if let Err(error) = builder.spawn(body) {
                load.living.fetch_sub(1, Ordering::Relaxed);
                return Err(LoadError::process(format!("start thread {index} of {total}"))(error));
            }
        }
    }
    Ok(())
}

/// Starts a process instead of a thread, and a thread that waits for its end. It dies with this process.
fn start_process(load: &Arc<Load>, thread: ActorThread, name: &str) -> Result<(), LoadError> {
    let parent = std::process::id() as i32;
    let child = sys::fork(|| {
        let _ = set_parent_process_death_signal(Some(Signal::KILL));
        if getppid().map(Pid::as_raw_pid) != Some(parent) {
            return;
        }
        let _ = rustix::thread::set_name(&std::ffi::CString::new(name.as_bytes()).unwrap_or_default());
        perform(load, thread);
    });
    let child = child.map_err(LoadError::process(format!("start process {} of '{name}'", thread.ordinal + 1)))?;
    let own_load = Arc::clone(load);
    load.living.fetch_add(1, Ordering::Relaxed);
    let watch = move || {
        let status = rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty());
        if let Ok(Some((_, status))) = status
            && let Some(signal) = status.terminating_signal()
        {
            own_load.context.board.fail(&format!("a process of the load was killed by signal {signal}"));
        }
        own_load.living.fetch_sub(1, Ordering::Release);
    };
    let builder = std::thread::Builder::new().name("watch".to_owned()).stack_size(ACTOR_STACK_BYTES);
    builder.spawn(watch).map(|_| ()).map_err(LoadError::process("watch a process of the load"))
}
