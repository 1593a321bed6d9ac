//! Options of commands that show results.

use clap::Args;
use model::quantity::parse_duration;

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

/// A duration above 0.
pub fn positive_duration(text: &str) -> Result<u64, String> {
    match parse_duration(text) {
        Ok(0) => Err(format!("{text}: must be greater than 0")),
        Ok(ns) => Ok(ns),
        Err(error) => Err(error.to_string()),
    }
}
