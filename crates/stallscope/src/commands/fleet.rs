//! `fleet`: questions to a lake, which a program of its own answers.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use clap::Args;

use crate::ui::companion::fleet_program;
use crate::ui::failure::{Exit, Failure};

/// Options of `fleet`.
#[derive(Debug, Args)]
pub struct FleetArgs {
    /// Question and its options: top, grew, diff, find or sql.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "QUESTION")]
    pub words: Vec<OsString>,
}

/// Becomes the program.
pub fn fleet(args: &FleetArgs) -> Result<Exit, Failure> {
    let program = fleet_program()?;
    let error = Command::new(&program).args(&args.words).exec();
    Err(Failure::path(&error, format_args!("{}: cannot be run: {error}", program.display())))
}
