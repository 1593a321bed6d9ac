//! Options of commands that read one run.

use std::path::PathBuf;

use clap::Args;

/// A run to read.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The run directory.
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Print one JSON document, and nothing else, to standard output.
    #[arg(long)]
    pub json: bool,
}
