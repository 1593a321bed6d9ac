//! Options of commands that show results.

use clap::Args;

/// How results are shown.
#[derive(Debug, Args, Clone)]
pub struct OutputArgs {
    /// Print one JSON document, and nothing else, to standard output.
    #[arg(long)]
    pub json: bool,
    /// No progress and no remarks.
    #[arg(long, short = 'q')]
    pub quiet: bool,
}
