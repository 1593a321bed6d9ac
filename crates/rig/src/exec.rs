//! Moving into the cgroups: the last steps of a process before it becomes the load.

use std::convert::Infallible;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use crate::RigError;

/// Writes this process's id into each `cgroup.procs` file, and executes the command. Returns only on failure.
///
/// The process moves *itself* before it executes the command, so every page of the command is charged to the cgroup.
pub fn exec_in_cgroup(cgroup_procs: &[PathBuf], command: &[OsString]) -> Result<Infallible, RigError> {
    let pid = std::process::id().to_string();
    for file in cgroup_procs {
        std::fs::write(file, &pid).map_err(RigError::cgroup("the cgroup", format!("write {pid} to"), file))?;
    }
    let Some((program, arguments)) = command.split_first() else {
        return Err(RigError::Tool { command: "the command in the cgroup".into(), why: "it is empty".into() });
    };
    let error = Command::new(program).args(arguments).exec();
    Err(RigError::Tool { command: program.to_string_lossy().into_owned(), why: error.to_string() })
}
