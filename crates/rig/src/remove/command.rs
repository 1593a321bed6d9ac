//! Commands of the user that change something, and revert it.

use std::process::Command;
use std::time::Duration;

use crate::child::run;
use crate::environment::clean_environment;
use crate::outcome::Outcome;

/// A command that changes a setting takes no longer.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// The command, for `sh`. It may be reverted by another process than the one that applied it, so both have the same
/// clean environment.
pub(crate) fn shell(command: &str) -> Command {
    let mut shell = Command::new("sh");
    clean_environment(shell.args(["-c", command]));
    shell
}

/// Reverts a change.
pub(super) fn revert(command: &str) -> Outcome {
    run(&mut shell(command), DEADLINE).map(|_| Some("reverted")).map_err(|error| error.to_string())
}
