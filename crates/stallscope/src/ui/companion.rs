//! `stallscope-fleet`, a program of its own: its engine takes longer to build than all else.

use std::path::PathBuf;

use crate::ui::failure::Failure;

/// The program's name.
pub const FLEET: &str = "stallscope-fleet";

/// Where it is: beside this program, as `make fleet` and an installation leave it. Where it is missing, the error says how to get it.
pub fn fleet_program() -> Result<PathBuf, Failure> {
    let this = std::env::current_exe().map_err(Failure::machine)?;
    let program = this.with_file_name(FLEET);
    if !program.is_file() {
        let remedy = "'make fleet' in the sources builds it and puts it there";
        return Err(Failure::usage(format_args!("{}: is missing; {remedy}", program.display())));
    }
    Ok(program)
}
