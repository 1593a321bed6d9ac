//! The command that is recorded: checked, started in its cgroups, and ended.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use model::name;
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use rustix::time::Timespec;

use crate::recording::process_tree::ProcessTree;
use crate::ui::failure::Failure;
use crate::ui::interrupt::Interrupt;

const POLL: Duration = Duration::from_millis(100);
/// Time that a command has to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// The name of a command; `None` without one.
pub fn name_of(command: &[OsString]) -> Option<String> {
    Some(name::text(Path::new(command.first()?).file_name()?.as_bytes()))
}

/// The directories that a command is likely to use: those that the user named; without them the working directory and
/// every path among the command's words.
pub fn likely_used(command: &[OsString], named: &[PathBuf]) -> Vec<String> {
    let absolute = |path: &PathBuf| path.canonicalize().ok().map(|path| name::text(path.as_os_str().as_bytes()));
    if !named.is_empty() {
        return named.iter().filter_map(absolute).collect();
    }
    // The program itself is not what it works on. `--directory=/mnt/x` and `if=/dev/sda` hold a path, too.
    let words = command.iter().skip(1).filter_map(|word| word.to_str());
    let paths = words.filter_map(|word| word.find('/').map(|at| PathBuf::from(&word[at..])));
    let here = (!command.is_empty()).then(|| PathBuf::from("."));
    let mut used: Vec<String> = here.into_iter().chain(paths).filter_map(|path| absolute(&path)).collect();
    used.sort();
    used.dedup();
    used
}

/// Refuses a command that cannot be started, before anything is set up for it.
pub fn refuse_unusable(command: &[OsString]) -> Result<(), Failure> {
    let Some(program) = command.first() else { return Ok(()) };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let why = match program.as_encoded_bytes().contains(&b'/') {
        true => not_executable(Path::new(program)),
        false if std::env::split_paths(&path).any(|folder| not_executable(&folder.join(program)).is_none()) => None,
        false => Some("not found in PATH"),
    };
    match why {
        Some(why) => Err(Failure::usage(format_args!("cannot start '{}': {why}", program.to_string_lossy()))),
        None => Ok(()),
    }
}

/// Why a file is no program.
fn not_executable(path: &Path) -> Option<&'static str> {
    match path.metadata() {
        Err(_) => Some("no such file"),
        Ok(metadata) if metadata.is_dir() => Some("is a directory"),
        Ok(metadata) => (metadata.permissions().mode() & 0o111 == 0).then_some("is not executable"),
    }
}

/// Where the output of a command goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streams {
    /// Its own, as without us.
    Own,
    /// All to standard error: standard output is reserved for the JSON document.
    Stderr,
    /// To pipes, which are read.
    Piped,
}

/// Starts a command, through a helper process that enters the cgroups first. `None` without a command.
pub fn start(command: &[OsString], cgroup_procs: &[PathBuf], streams: Streams) -> Result<Option<Child>, Failure> {
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
    match streams {
        Streams::Own => {}
        Streams::Stderr => drop(starter.stdout(std::io::stderr())),
        Streams::Piped => drop(starter.stdout(Stdio::piped()).stderr(Stdio::piped())),
    }
    let started = starter.spawn();
    started
        .map(Some)
        .map_err(|error| Failure::usage(format_args!("cannot start '{}': {error}", program.to_string_lossy())))
}

/// What becomes readable when the command ends; `None` where the kernel has no such descriptors (before Linux 5.3).
pub fn exit_of(child: &Child) -> Option<OwnedFd> {
    pidfd_open(Pid::from_child(child), PidfdFlags::empty()).ok()
}

/// Waits for the end of the command, for a signal, or for so long.
pub fn wait(exit: Option<&OwnedFd>, most: Duration) {
    let Some(exit) = exit else { return std::thread::sleep(most) };
    let time = Timespec { tv_sec: most.as_secs() as i64, tv_nsec: most.subsec_nanos().into() };
    // Whether it has ended is asked by waitpid.
    let _ = rustix::event::poll(&mut [PollFd::new(exit, PollFlags::IN)], Some(&time));
}

/// Sends SIGTERM to the command and to what it started, then SIGKILL. What is stuck in the kernel is left behind.
pub fn end(child: &mut Child, interrupt: &Interrupt) -> Option<ExitStatus> {
    let tree = ProcessTree::of(child.id());
    tree.send(Signal::TERM);
    let requested = Instant::now();
    let (mut killed, mut status) = (false, None);
    while requested.elapsed() < GRACE {
        status = status.or_else(|| child.try_wait().ok().flatten());
        if status.is_some() && !tree.is_alive() {
            break;
        }
        if !killed && (requested.elapsed() > GRACE / 2 || interrupt.requests() > 1) {
            tree.send(Signal::KILL);
            killed = true;
        }
        std::thread::sleep(POLL);
    }
    status
}
