//! `report`: runs as a self-contained HTML file.

mod set;

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use model::quantity::Bytes;
use page::Limits;

use crate::reading::document::{self, RunDocument};
use crate::reading::integrity::Integrity;
use crate::reading::run_set;
use crate::reading::scope::ScopeArgs;
use crate::recording::own_path::{create, refuse_replaceable};
use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;

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

/// Writes the report.
pub fn report(args: &ReportArgs, screen: &Screen) -> Result<Exit, Failure> {
    document::refuse_twice(&args.runs)?;
    refuse_replaceable(&args.output)?;
    if let Some(set) = args.runs.iter().find(|run| archive::is_set(run)) {
        return match (&args.runs[..], run_set::open(set)?) {
            ([_], Some(set)) => set::report(args, &set, screen),
            _ => Err(Failure::usage(format_args!(
                "{}: a run on several nodes has a report of its own; compare it with 'stallscope compare'",
                set.display()
            ))),
        };
    }
    let read = |path: &PathBuf| {
        let _busy = screen.busy(&format!("reading {}", path.display()));
        RunDocument::read(path, (Limits::FILE, &args.scope), page::wanted_counter, screen)
    };
    let runs: Vec<RunDocument> = args.runs.iter().map(read).collect::<Result<_, _>>()?;
    let advised = |run| (run, RunDocument::prediction(run).map(|pending| pending.predict()));
    let html = page::report(&document::document(&runs.iter().map(advised).collect::<Vec<_>>()));
    let mut integrity = Integrity::default();
    runs.iter().for_each(|run| integrity.join(&run.integrity));
    write(args, &html, &integrity, screen)
}

fn write(args: &ReportArgs, html: &str, integrity: &Integrity, screen: &Screen) -> Result<Exit, Failure> {
    create(&args.output)?
        .write_all(html.as_bytes())
        .map_err(|error| Failure::path(&error, format_args!("{}: cannot write: {error}", args.output.display())))?;
    let banner = integrity.banner(screen.style());
    screen.result(&format!("{banner}{}: {}\n", args.output.display(), Bytes(html.len() as u64)));
    Ok(integrity.exit())
}
