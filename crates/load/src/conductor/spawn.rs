//! A load process: its start, and why it ended.

use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ExitStatus, Stdio};

use rustix::fs::MemfdFlags;

use super::event::Launch;
use crate::error::LoadError;
use crate::plan::Plan;
use crate::sys;

/// Starts a load process on a board.
pub(super) fn spawn(plan: &Plan, launch: &Launch, board: &OwnedFd) -> Result<Child, LoadError> {
    let mut command = std::process::Command::new(&launch.executable);
    command.args(&launch.arguments);
    command.arg("--board-fd").arg(board.as_raw_fd().to_string());
    command.arg("--parent").arg(std::process::id().to_string());
    for file in &launch.cgroup_procs {
        command.arg("--cgroup-procs").arg(file);
    }
    // A separate process group keeps the terminal's Ctrl-C away.
    command.stdin(plan_file(plan)?).stdout(Stdio::null()).process_group(0);
    sys::inherit(&mut command, board.as_raw_fd());
    let start = format!("start the load process {}", launch.executable.display());
    command.spawn().map_err(LoadError::process(start))
}

/// Why a load process ended that left no message.
pub(super) fn cause_of_death(status: ExitStatus) -> String {
    match status.signal() {
        Some(9) => "the load process was killed by signal 9: out of memory, in its memory cgroup or on the machine, \
                    unless it was killed by hand"
            .to_owned(),
        Some(signal) => format!("the load process was killed by signal {signal}"),
        None => format!("the load process ended unexpectedly ({status})"),
    }
}

/// The plan as the load process's standard input: a memfd, because a pipe could fill up.
fn plan_file(plan: &Plan) -> Result<Stdio, LoadError> {
    let write = || -> std::io::Result<File> {
        let mut file = File::from(rustix::fs::memfd_create("stallscope-plan", MemfdFlags::CLOEXEC)?);
        file.write_all(&serde_json::to_vec(plan)?)?;
        file.rewind()?;
        Ok(file)
    };
    write().map(Stdio::from).map_err(LoadError::process("hand over the plan"))
}
