//! `lake compact`: one file for each day and host.

use std::path::PathBuf;

use clap::Args;
use lake::Lake;
use model::quantity::Bytes;
use model::quantity::counted;

use super::opened::{failed, refuse_foreign};
use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;

/// Options of `lake compact`.
#[derive(Debug, Args)]
pub struct CompactArgs {
    /// Directory of the lake.
    #[arg(value_name = "LAKE")]
    pub lake: PathBuf,
    /// Change nothing; print what would be compacted.
    #[arg(long)]
    pub dry_run: bool,
    /// Suppress progress and notes.
    #[arg(long, short = 'q')]
    pub quiet: bool,
}

/// Compacts a lake. Exit code 1 where a partition holds something else and stays as it is.
pub fn compact(args: &CompactArgs, screen: &Screen) -> Result<Exit, Failure> {
    refuse_foreign(&args.lake)?;
    let lake = Lake::open(&args.lake).map_err(failed)?;
    let name = args.lake.display();
    let busy = screen.busy(&format!("compacting {name}"));
    let done = lake.compact(args.dry_run).map_err(failed)?;
    drop(busy);
    let (files, partitions) = (counted(done.files, "file"), counted(done.partitions, "partition"));
    let before = Bytes(done.bytes_before);
    screen.remark(&match (done.partitions, args.dry_run) {
        (0, _) => format!("{name}: already compact"),
        (_, true) => format!("{name}: would compact {files} ({before}) in {partitions}"),
        (_, false) => {
            format!("{name}: {files} in {partitions}, {before} before, {} after", Bytes(done.bytes_after))
        }
    });
    if !done.removed_runs.is_empty() {
        let runs = counted(done.removed_runs.len() as u64, "run");
        let verb = if args.dry_run { "would remove" } else { "removed" };
        screen.remark(&format!(
            "{name}: {verb} rows of {runs} (a duplicate, or not in its table 'runs': of an interrupted 'add', or of an \
             expired first day)"
        ));
    }
    let skipped = done.skipped.len() as u64;
    done.skipped
        .iter()
        .for_each(|folder| screen.warning(&format!("{}: contains other files; left alone", folder.display())));
    if skipped > 0 {
        return Err(Failure::found(format_args!(
            "{name}: {} not compacted; remove the files that do not belong there",
            counted(skipped, "partition")
        )));
    }
    Ok(Exit::Done)
}
