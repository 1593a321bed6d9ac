//! `report`: runs as a self-contained HTML file.

use std::path::PathBuf;

use clap::Args;
use model::quantity::Bytes;
use page::Limits;

use crate::reading::document::{self, RunDocument};
use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;

/// Options of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Run directories; the first is the baseline for the others.
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// Output file; self-contained HTML.
    #[arg(short, long, value_name = "FILE.html")]
    pub output: PathBuf,
}

/// Writes the report.
pub fn report(args: &ReportArgs, screen: &Screen) -> Result<Exit, Failure> {
    document::refuse_twice(&args.runs)?;
    let read = |path: &PathBuf| {
        let _busy = screen.busy(&format!("reading {}", path.display()));
        RunDocument::read(path, Limits::FILE, page::wanted_counter, screen)
    };
    let runs: Vec<RunDocument> = args.runs.iter().map(read).collect::<Result<_, _>>()?;
    let html = page::report(&document::document(&runs.iter().collect::<Vec<_>>()));
    std::fs::write(&args.output, &html)
        .map_err(|error| Failure::machine(format_args!("{}: cannot write: {error}", args.output.display())))?;
    screen.result(&format!("{}: {}\n", args.output.display(), Bytes(html.len() as u64)));
    Ok(Exit::Done)
}
