//! `stallscope-fleet`, a program of its own: its engine takes longer to build than all else.

use std::path::PathBuf;

use crate::ui::failure::Failure;

/// The program's name.
pub const FLEET: &str = "stallscope-fleet";

/// Where it is: beside this program, as `make fleet` and an installation leave it. `user` is the command that needs it.
/// Where it is missing, the error says how to get it.
pub fn fleet_program(user: &str) -> Result<PathBuf, Failure> {
    let this = std::env::current_exe().map_err(Failure::machine)?;
    let program = this.with_file_name(FLEET);
    if !program.is_file() {
        return Err(Failure::usage(format_args!(
            "'{user}' needs {FLEET}, which is not installed; install the package {FLEET}, or build it with 'make \
             fleet' in the sources, which puts it at {}",
            program.display()
        )));
    }
    Ok(program)
}
