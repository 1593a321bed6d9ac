//! The form in which a run's figures are shown.

use explain::summary::Summary;

use crate::ui::failure::Failure;

/// The form of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Our own.
    Text,
    /// That of the program which the workload comes from.
    Native,
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
