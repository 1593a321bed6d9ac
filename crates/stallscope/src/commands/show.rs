//! `show`: the summary of a run.

use clap::Args;

use crate::reading::answer::Shown;
use crate::reading::args::RunArgs;
use crate::reading::form::{self, Format};
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
