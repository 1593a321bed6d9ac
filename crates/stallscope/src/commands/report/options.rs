//! Options of `report`.

use std::path::PathBuf;

use clap::Args;

use crate::reading::scope::ScopeArgs;

/// Options of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Run directories; the first is the baseline for the others. Or the directory of one run on several nodes.
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// Output file; self-contained HTML.
    #[arg(short, long, value_name = "FILE.html")]
    pub output: PathBuf,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub scope: ScopeArgs,
}
