//! The begin of MPI, and what it reads from the environment then.

use std::os::unix::process::CommandExt;
use std::process::Command;

use ::mpi::Threading;
use ::mpi::environment::Universe;

use crate::ui::failure::Failure;

/// Memory for messages that are on their way.
const BUFFER_BYTES: usize = 8 << 20;
/// Tolerance of faults. Without it, Open MPI 5 ends a process that loses the connection to a killed one, whatever the
/// error handler is, before rank 0 has said what ends the run. Earlier versions do not know it, and lose no process for
/// that.
const TOLERANCE: (&str, &str) = ("OMPI_MCA_mpi_ft_enable", "true");

/// Starts the program again in this process, with what it lacks. Where that fails, MPI does without.
pub(super) fn complete() {
    let (name, value) = TOLERANCE;
    if std::env::var_os(name).is_some() {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut words = std::env::args_os();
    let mut again = Command::new(program);
    words.next().into_iter().for_each(|first| _ = again.arg0(first));
    let _ = again.args(words).env(name, value).exec();
}

/// Enters MPI, of which this thread alone makes calls.
pub(super) fn universe() -> Result<Universe, Failure> {
    let initialized = ::mpi::initialize_with_threading(Threading::Funneled);
    let (mut universe, _) = initialized.ok_or_else(|| Failure::machine("cannot initialize MPI"))?;
    universe.set_buffer_size(BUFFER_BYTES);
    Ok(universe)
}
