//! `show`: what happened in a run.

use crate::cli::RunDirectory;
use crate::failure::{Exit, Failure};
use crate::reading;
use crate::screen::Screen;

/// Shows a run's summary, also while the run is still being written.
pub fn show(args: &RunDirectory, screen: &Screen) -> Result<Exit, Failure> {
    let name = args.run.display().to_string();
    let summary = reading::summary(&args.run, |warning| screen.warning(warning))?;
    if args.json {
        screen.json(&report::json::summary(&name, &summary));
    } else {
        screen.result(&report::summary::text(&name, &summary, screen.style()));
    }
    Ok(Exit::Done)
}
