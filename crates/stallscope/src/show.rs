//! `show`: what happened in a run.

use explain::summary::Summary;

use crate::cli::{Format, ShowArgs};
use crate::failure::{Exit, Failure};
use crate::reading;
use crate::screen::Screen;

/// Shows a run's summary, also while the run is still being written.
pub fn show(args: &ShowArgs, screen: &Screen) -> Result<Exit, Failure> {
    let ShowArgs { run: args, format } = args;
    let name = args.run.display().to_string();
    let summary = reading::summary(&args.run, |warning| screen.warning(warning))?;
    if args.json {
        screen.json(&report::json::summary(&name, &summary));
    } else if *format == Format::Native {
        screen.result(&native(&summary)?);
    } else {
        screen.result(&report::summary::text(&name, &summary, screen.style()));
    }
    Ok(Exit::Done)
}

/// A run's figures in the form of the workload's original.
pub fn native(summary: &Summary) -> Result<String, Failure> {
    report::native::text(summary).ok_or_else(|| no_native(&summary.workload))
}

/// What to say where a workload's figures have no other form.
pub fn no_native(workload: &str) -> Failure {
    let there = report::native::WORKLOADS.join(", ");
    Failure::usage(format_args!(
        "--format native: '{workload}' has no original with a form of its own; those that have one are {there}"
    ))
}
