//! `fleet`: questions to a lake, which a program of its own answers: its engine takes longer to build than all else.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use clap::Args;

use crate::ui::failure::{Exit, Failure};

/// The program's name.
const PROGRAM: &str = "stallscope-fleet";

/// Options of `fleet`.
#[derive(Debug, Args)]
pub struct FleetArgs {
    /// Question and its options: top, grew, diff, find or sql.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "QUESTION")]
    pub words: Vec<OsString>,
}

/// Becomes the program where it is beside this one, as `make fleet` and an installation leave it; else says how to get it.
pub fn fleet(args: &FleetArgs) -> Result<Exit, Failure> {
    let this = std::env::current_exe().map_err(Failure::machine)?;
    let program = this.with_file_name(PROGRAM);
    if !program.is_file() {
        let remedy = "'make fleet' in the sources builds it and puts it there";
        return Err(Failure::usage(format_args!("{}: is missing; {remedy}", program.display())));
    }
    let error = Command::new(&program).args(&args.words).exec();
    Err(Failure::path(&error, format_args!("{}: cannot be run: {error}", program.display())))
}
