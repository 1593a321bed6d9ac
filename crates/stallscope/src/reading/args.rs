//! Options of commands that read one run.

use std::path::PathBuf;

use clap::Args;

/// A run to read.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Run directory.
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Print a single JSON document to standard output.
    #[arg(long)]
    pub json: bool,
}
