//! `show`: the summary of a run, or of a run on several nodes.

use clap::Args;

use crate::reading::answer::Shown;
use crate::reading::args::RunArgs;
use crate::reading::form::{self, Format};
use crate::reading::run_set::{self, RunSet};
use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;

/// Options of `show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub run: RunArgs,
    /// Output format: Stallscope's, or that of the tool that the workload reproduces.
    #[arg(long, value_name = "FORMAT", default_value = "text", conflicts_with = "json")]
    pub format: Format,
}

/// Shows a run's summary; the run may still be recording.
pub fn show(args: &ShowArgs, screen: &Screen) -> Result<Exit, Failure> {
    let ShowArgs { run: args, format } = args;
    if let Some(set) = run_set::open(&args.run)? {
        return show_set(&set, args.json, *format, screen);
    }
    let shown = Shown::read(&args.run, |warning| screen.warning(warning))?;
    let Shown { name, summary, integrity } = &shown;
    if args.json {
        screen.json(&shown.document());
    } else if *format == Format::Native {
        // Its readers are programs.
        integrity.lacks().for_each(|lack| screen.warning(&format!("incomplete: {lack}")));
        screen.result(&form::native(summary)?);
    } else {
        let style = screen.style();
        screen.result(&(integrity.banner(style) + &report::summary::text(name, summary, style)));
    }
    Ok(integrity.exit())
}

fn show_set(set: &RunSet, json: bool, format: Format, screen: &Screen) -> Result<Exit, Failure> {
    let summaries = set.summarize(screen);
    let (name, runs) = (set.directory.display().to_string(), set.run_names());
    let figures = set.figures(&name, &runs, &summaries);
    let integrity = set.integrity();
    if json {
        screen.json(&integrity.added(report::set::summary_json(&figures)));
    } else if format == Format::Native {
        integrity.lacks().for_each(|lack| screen.warning(&format!("incomplete: {lack}")));
        let all =
            summaries.all.as_ref().ok_or_else(|| Failure::found(format_args!("{name}: no node's run can be read")))?;
        screen.result(&form::native(&all.whole)?);
    } else {
        let style = screen.style();
        screen.result(&(integrity.banner(style) + &report::set::text(&figures, style)));
    }
    Ok(integrity.exit())
}
