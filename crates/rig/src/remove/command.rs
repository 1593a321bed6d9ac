//! Commands of the user that change something, and revert it.

use std::process::Command;
use std::time::Duration;

use crate::RigError;
use crate::child::run;
use crate::environment::clean_environment;
use crate::outcome::Outcome;

/// A command that changes a setting takes no longer.
const DEADLINE: Duration = Duration::from_secs(30);

/// Runs a command by `sh` to its end. It may be reverted by another process than the one that applied it, so both have the
/// same clean environment.
pub(crate) fn shell(command: &str) -> Result<(), RigError> {
    run(clean_environment(Command::new("sh").args(["-c", command])), DEADLINE).map(drop)
}

/// Reverts a change.
pub(super) fn revert(command: &str) -> Outcome {
    shell(command).map(|()| Some("reverted")).map_err(|error| error.to_string())
}
