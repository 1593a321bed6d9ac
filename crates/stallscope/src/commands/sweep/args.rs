//! Options of `sweep`.

use std::path::PathBuf;

use clap::Args;
use sweep::Shard;

use crate::recording::sharing::SharingArgs;
use crate::ui::args::OutputArgs;

/// Options of `sweep`.
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// Sweep file: what to vary.
    #[arg(value_name = "FILE.toml")]
    pub file: PathBuf,
    /// Directory of the sweep; an interrupted sweep resumes there [default: ./stallscope-sweeps/NAME].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Run only part N of M, one part per machine. Collect the runs in one directory afterwards.
    #[arg(long, value_name = "N/M", value_parser = shard, default_value = "1/1")]
    pub shard: Shard,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub sharing: SharingArgs,
    /// Print the plan and the estimated time, and exit.
    #[arg(long, conflicts_with_all = ["group", "mode"])]
    pub plan: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub output: OutputArgs,
}

fn shard(text: &str) -> Result<Shard, String> {
    Shard::parse(text).map_err(|error| error.to_string())
}
