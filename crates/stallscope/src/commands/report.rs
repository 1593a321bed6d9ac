//! `report`: runs as a self-contained HTML file.

mod options;
mod output;
mod set;

use std::path::PathBuf;

use page::Limits;

pub use options::ReportArgs;

use self::output::write;
use crate::reading::document::{self, RunDocument};
use crate::reading::integrity::Integrity;
use crate::reading::run_set;
use crate::recording::output_file::refuse;
use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;

/// Writes the report.
pub fn report(args: &ReportArgs, screen: &Screen) -> Result<Exit, Failure> {
    document::refuse_twice(&args.runs)?;
    refuse(&args.output, &args.runs)?;
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
