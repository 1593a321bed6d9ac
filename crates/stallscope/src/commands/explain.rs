//! `explain`: why the slow operations of a run were slow.

use std::path::PathBuf;

use archive::Run;
use clap::Args;
use model::preflight::Finding;
use model::quantity::parse_duration;

use crate::reading::archived_run;
use crate::reading::explanation::explanation;
use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;

/// Options of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Run directory.
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Explain operations of at least T [default: those recorded individually].
    #[arg(long, value_name = "T", value_parser = parse_duration)]
    pub slower_than: Option<u64>,
    /// Show the N worst stalls in detail [default: 5; with --json: all recorded].
    #[arg(long, value_name = "N")]
    pub worst: Option<usize>,
    /// Print a single JSON document to standard output.
    #[arg(long)]
    pub json: bool,
}

/// Explains a run; it may still be recording.
pub fn explain(args: &ExplainArgs, screen: &Screen) -> Result<Exit, Failure> {
    let run = archived_run::open(&args.run)?;
    if !run.has_trace() {
        return Err(untraced(&run));
    }
    let name = args.run.display().to_string();
    let busy = screen.busy(&format!("explaining {name}"));
    let mut explanation = explanation(&run, args.slower_than, |warning| screen.warning(warning));
    drop(busy);
    if args.json {
        explanation.stalls.truncate(args.worst.unwrap_or(usize::MAX));
        screen.json(&report::json::explanation(&name, &explanation));
    } else {
        let worst = args.worst.unwrap_or(report::explain::STALLS_SHOWN);
        screen.result(&report::explain::text(&name, &explanation, worst, screen.style()));
    }
    Ok(Exit::Done)
}

fn untraced(run: &Run) -> Failure {
    let missing = |finding: &&Finding| !finding.available && finding.capability == record::TRACE_CAPABILITY;
    let finding = run.description().preflight.iter().find(missing);
    let why = match finding {
        Some(Finding { why: Some(why), remedy: Some(remedy), .. }) => format!("{why}; {remedy}"),
        _ => "with --no-trace, or by a version that could not trace; record it again as root, without that flag"
            .to_owned(),
    };
    Failure::usage(format_args!(
        "{}: cannot be explained: it was recorded without kernel tracing: {why}",
        run.dir().display()
    ))
}
