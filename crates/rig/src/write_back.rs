//! Writing back dirty data, by sync(1): the kernel may never answer, and a process in sync(2) cannot be killed.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::RigError;
use crate::child::{find_tool, run};

/// Writes back what is dirty in the file system of a directory.
pub fn sync_file_system(directory: &Path, deadline: Duration) -> Result<(), RigError> {
    run(sync()?.args(["-f", "--"]).arg(directory), deadline).map(drop)
}

/// Writes back what is dirty in any file system. It waits for the slowest: a frozen one, a throttled one, a server that
/// is gone.
pub fn sync_all(deadline: Duration) -> Result<(), RigError> {
    run(&mut sync()?, deadline).map(drop)
}

fn sync() -> Result<Command, RigError> {
    find_tool("sync").map(Command::new).ok_or(RigError::MissingTool { tool: "sync", package: "coreutils" })
}
