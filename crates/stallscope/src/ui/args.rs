//! Options of commands that show results.

use clap::Args;

/// How results are shown.
#[derive(Debug, Args, Clone)]
pub struct OutputArgs {
    /// Print a single JSON document to standard output.
    #[arg(long)]
    pub json: bool,
    /// Suppress progress and notes.
    #[arg(long, short = 'q')]
    pub quiet: bool,
}
