//! The figures at the end of a run: on the screen, and in a log file if requested.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use explain::summary::Summary;

use crate::commands::run::other_ranks::AllNodes;
use crate::commands::run::request::RunRequest;
use crate::reading::form::{Format, no_native};
use crate::reading::integrity::Integrity;
use crate::recording::output_file::refuse;
use crate::recording::own_path::append;
use crate::ui::failure::Failure;
use crate::ui::screen::Screen;

/// Output of a run's figures.
pub struct Showing {
    json: bool,
    format: Format,
    log: Option<(PathBuf, File)>,
}

impl Showing {
    /// By the request. A format that the workload does not have, or a log that cannot be opened, is an error before the
    /// run.
    pub fn new(request: &RunRequest) -> Result<Showing, Failure> {
        let workload = request.recipe.name.as_str();
        if request.args.format == Format::Native && !report::native::WORKLOADS.contains(&workload) {
            return Err(no_native(workload));
        }
        let open = |path: &PathBuf| refuse(path, &[]).and_then(|()| append(path)).map(|file| (path.clone(), file));
        let log = request.log.as_ref().filter(|_| !request.args.plan).map(open).transpose()?;
        Ok(Showing { json: request.args.recording.output.json, format: request.args.format, log })
    }

    /// Shows the figures of a run.
    pub fn show(&self, summary: &Summary, directory: &Path, screen: &Screen) {
        let name = directory.display().to_string();
        if summary.workload == "simoop" {
            screen.result(&format!("{}\n{}\n", report::simoop::FINAL_STATS, report::simoop::report(summary)));
        }
        let (integrity, style) = (Integrity::of_recorded(directory, summary), screen.style());
        if screen.is_quiet() || self.format == Format::Native {
            integrity.warn(screen);
        }
        let native = report::native::text(summary);
        self.log(native.as_deref(), screen);
        match native.filter(|_| self.format == Format::Native && summary.workload != "simoop") {
            Some(native) => screen.result(&native),
            None if self.json => screen.json(&integrity.added(report::json::summary(&name, summary))),
            None => screen.result(&(integrity.banner(style) + &report::summary::text(&name, summary, style))),
        }
    }

    /// Shows the figures of a run on several nodes.
    pub(super) fn show_set(&self, all: &AllNodes, screen: &Screen) {
        let (name, runs) = (all.directory.display().to_string(), all.runs());
        let (figures, style) = (all.figures(&name, &runs), screen.style());
        let native = figures.all.and_then(|all| report::native::text(&all.whole));
        self.log(native.as_deref(), screen);
        match native.filter(|_| self.format == Format::Native) {
            Some(native) => {
                all.integrity.lacks().for_each(|lack| screen.warning(&format!("incomplete: {lack}")));
                screen.result(&native);
            }
            None if self.json => screen.json(&all.integrity.added(report::set::summary_json(&figures))),
            None => screen.result(&(all.integrity.banner(style) + &report::set::text(&figures, style))),
        }
    }

    fn log(&self, native: Option<&str>, screen: &Screen) {
        if let (Some((path, file)), Some(native)) = (&self.log, native)
            && let Err(error) = (&mut &*file).write_all(native.as_bytes())
        {
            screen.warning(&format!("cannot write the log {}: {error}", path.display()));
        }
    }
}
