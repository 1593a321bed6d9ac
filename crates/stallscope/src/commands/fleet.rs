//! `fleet`: questions to a lake, which a program of its own answers.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use clap::Args;

use crate::ui::companion::fleet_program;
use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;

/// In `stallscope --help`.
pub const ABOUT: &str = "Ask a lake which causes and issues grew, where, and since when";

const QUESTIONS: &str = "Questions:
  top   where most time is lost
  grew  what grew between two periods, and on which hosts
  diff  what differs between two sets of hosts or stalls
  find  one issue: its chain, days, longest stalls and runs
  sql   a query on the tables stalls, runs, intervals and counters

Examples:
  stallscope fleet top LAKE --by kernel
  stallscope fleet grew LAKE --before 2026-11-09 --after 2026-11-09

docs/FLEET.md describes the tables.";

/// Options of `fleet`.
#[derive(Debug, Args)]
#[command(after_help = QUESTIONS)]
pub struct FleetArgs {
    /// Question and its options: top, grew, diff, find or sql.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "QUESTION")]
    pub words: Vec<OsString>,
}

/// Becomes the program. Without it, help is that of this command alone.
pub fn fleet(args: &FleetArgs) -> Result<Exit, Failure> {
    let program = match fleet_program("fleet") {
        Err(failure) if asks_for_help(&args.words) => {
            let mut command = FleetArgs::augment_args(clap::Command::new("stallscope fleet")).about(ABOUT);
            Screen::new(false, false).result(&format!("{}\n{failure}\n", command.render_help()));
            return Ok(Exit::Done);
        }
        found => found?,
    };
    let error = Command::new(&program).args(&args.words).exec();
    Err(Failure::path(&error, format_args!("{}: cannot be run: {error}", program.display())))
}

fn asks_for_help(words: &[OsString]) -> bool {
    words.first().is_some_and(|word| word == "--help" || word == "-h" || word == "help")
}
