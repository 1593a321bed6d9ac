//! `lake`: explained stalls of many runs and machines as Parquet files.

mod add;
mod bucket;
mod compact;
mod counters;
mod expire;
mod opened;
mod stalls;

use clap::{Args, Subcommand};

use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;

/// Options of `lake`.
#[derive(Debug, Args)]
pub struct LakeArgs {
    /// Action.
    #[command(subcommand)]
    pub action: LakeAction,
}

/// Actions on a lake.
#[derive(Debug, Subcommand)]
pub enum LakeAction {
    /// Add runs to a lake: a directory of Parquet files for DuckDB, Spark and others. Runs that are already there are
    /// skipped.
    Add(add::AddArgs),
    /// Merge the files of each day and host into one, so that queries open fewer files. Readers and writers need not
    /// stop.
    Compact(compact::CompactArgs),
    /// Remove old days from a lake.
    Expire(expire::ExpireArgs),
}

/// Does it.
pub fn lake(args: &LakeArgs) -> Result<Exit, Failure> {
    match &args.action {
        LakeAction::Add(args) => add::add(args, &Screen::new(false, args.quiet)),
        LakeAction::Compact(args) => compact::compact(args, &Screen::new(false, args.quiet)),
        LakeAction::Expire(args) => expire::expire(args, &Screen::new(false, args.quiet)),
    }
}
