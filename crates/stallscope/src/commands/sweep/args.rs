//! Options of `sweep`.

use std::path::PathBuf;

use clap::Args;
use sweep::Shard;

use crate::ui::args::OutputArgs;

/// Options of `sweep`.
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// The file that says what to vary.
    #[arg(value_name = "FILE.toml")]
    pub file: PathBuf,
    /// The sweep's folder; a sweep that was stopped goes on there [default: ./stallscope-sweeps/NAME].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Do only this part, as 3/20: on each of 20 machines another. Gather the runs in one folder afterwards.
    #[arg(long, value_name = "N/M", value_parser = shard, default_value = "1/1")]
    pub shard: Shard,
    /// Say what would be done and how long it would take, and stop.
    #[arg(long)]
    pub plan: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub output: OutputArgs,
}

fn shard(text: &str) -> Result<Shard, String> {
    Shard::parse(text).map_err(|error| error.to_string())
}
