//! Flags of the original tools with their own syntax (`-s 2g:8k`), or about the tool rather than its work (`-u root`).
//! They become settings of the recipe and options of the run.

mod bonnie;
mod ior;
mod mdtest;

use clap::{ArgMatches, Command};

use crate::commands::run::request::RunRequest;
use crate::ui::failure::Failure;

/// Adds the original tool's flags that the recipe does not have to the command of a built-in workload.
pub fn extend(workload: &str, command: Command) -> Command {
    match workload {
        "bonnie" => bonnie::extend(command),
        "ior" => ior::extend(command),
        _ => command,
    }
}

/// Converts the original tool's flags to settings.
pub fn take(workload: &str, matches: &ArgMatches, request: &mut RunRequest) -> Result<(), Failure> {
    match workload {
        "bonnie" => bonnie::take(matches, request),
        "ior" => ior::take(matches, request),
        "mdtest" => mdtest::take(request),
        _ => Ok(()),
    }
}
