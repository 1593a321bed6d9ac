//! Flags of original programs that have a form of their own (`-s 2g:8k`), or that are about the program and not about its
//! work (`-u root`): what they say becomes settings of the recipe and options of the run.

mod bonnie;
mod ior;

use clap::{ArgMatches, Command};

use crate::commands::run::request::RunRequest;
use crate::ui::failure::Failure;

/// A shipped workload's command with the flags of its original that its recipe does not have.
pub fn extend(workload: &str, command: Command) -> Command {
    match workload {
        "bonnie" => bonnie::extend(command),
        "ior" => ior::extend(command),
        _ => command,
    }
}

/// Turns what was given in an original's own form into settings.
pub fn take(workload: &str, matches: &ArgMatches, request: &mut RunRequest) -> Result<(), Failure> {
    match workload {
        "bonnie" => bonnie::take(matches, request),
        "ior" => ior::take(matches, request),
        _ => Ok(()),
    }
}
