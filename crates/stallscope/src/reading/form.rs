//! Output format of a run's figures.

use explain::summary::Summary;

use crate::ui::failure::Failure;

/// Output format of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Stallscope's own.
    Text,
    /// That of the tool that the workload reproduces.
    Native,
}

/// A run's figures in the format of the original tool.
pub fn native(summary: &Summary) -> Result<String, Failure> {
    report::native::text(summary).ok_or_else(|| no_native(&summary.workload))
}

/// The error for a workload without a native format.
pub fn no_native(workload: &str) -> Failure {
    let available = report::native::WORKLOADS.join(", ");
    Failure::usage(format_args!(
        "--format native: '{workload}' has no native format; workloads that have one: {available}"
    ))
}
