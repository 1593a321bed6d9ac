//! `run`: a workload on real directories, recorded.

mod consent;
mod crash;
mod drive;
mod launcher;
mod live;
#[cfg(feature = "mpi")]
mod mpi;
mod native_flags;
pub mod order;
mod other_ranks;
mod patience;
mod performance;
pub mod request;
mod showing;
mod stuck;
pub mod workload;

use explain::blame::Scope;

pub use self::performance::{Outcome, perform};
use self::request::RunRequest;
use crate::reading::explanation;
use crate::reading::form::Format;
use crate::recording::machine;
use crate::ui::failure::{Exit, Failure};
use crate::ui::interrupt::Interrupt;
use crate::ui::screen::Screen;

/// Runs a workload, and prints its summary and a brief explanation.
pub fn run(request: RunRequest) -> Result<Exit, Failure> {
    #[cfg(feature = "mpi")]
    if launcher::started_ranks(&request) {
        return mpi::run(request);
    }
    if let Some(exit) = launcher::refuse(&request)? {
        return Ok(exit);
    }
    let output = &request.args.recording.output;
    // Nothing may follow a machine-readable format.
    let only_figures = output.json || request.args.format == Format::Native;
    let screen = Screen::new(output.json, output.quiet);
    let interrupt = Interrupt::install()?;
    if let Some(parent) = request.args.with_parent {
        stop_with(parent)?;
    }
    let spared = crash::spare(&request);
    let register = machine::register(|remark| screen.remark(remark)).map_err(Failure::machine)?;
    drop(spared);
    let outcome = perform(request, &screen, &interrupt, &register)?;
    if let Some(directory) = outcome.directory.as_deref().filter(|_| !only_figures) {
        explanation::print_brief(directory, Scope::default(), outcome.exit == Exit::Interrupted, &screen);
    }
    Ok(outcome.exit)
}

/// Lets the death of the parent process stop this one, as Ctrl-C would.
fn stop_with(parent: i32) -> Result<(), Failure> {
    let failed = |error| Failure::machine(format_args!("--with-parent: {error}"));
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM)).map_err(failed)?;
    match rustix::process::getppid().map(rustix::process::Pid::as_raw_pid) == Some(parent) {
        true => Ok(()),
        false => Err(Failure::machine("the parent process of this run is gone")),
    }
}
