//! `explain`: why the slow operations of a run were slow.

use std::path::{Path, PathBuf};

use archive::Run;
use clap::Args;
use model::preflight::Finding;
use remedy::Remedies;

use crate::reading::archived_run;
use crate::reading::explanation::{STALLS_LISTED, advice, explanation_in};
use crate::reading::integrity::Integrity;
use crate::reading::scope::ScopeArgs;
use crate::ui::args::positive_duration;
use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;

/// Options of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Run directory.
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Explain operations of at least T [default: those recorded individually].
    #[arg(long, value_name = "T", value_parser = positive_duration)]
    pub slower_than: Option<u64>,
    /// Show the N worst stalls in detail [default: 5; with --json: 200].
    #[arg(long, value_name = "N")]
    pub worst: Option<usize>,
    /// Predict what each remedy that fits would bring, and rank them.
    #[arg(long)]
    pub what_if: bool,
    /// Add remedies of a TOML file to the built-in ones (docs/WHATIF.md).
    #[arg(long, value_name = "FILE")]
    pub remedies: Option<PathBuf>,
    /// Print a single JSON document to standard output.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub scope: ScopeArgs,
}

/// Explains a run; it may still be recording.
pub fn explain(args: &ExplainArgs, screen: &Screen) -> Result<Exit, Failure> {
    let remedies = remedies(args.remedies.as_deref())?;
    let run = archived_run::open(&args.run)?;
    if !run.has_trace() {
        return Err(untraced(&run));
    }
    let name = args.run.display().to_string();
    let busy = screen.busy(&format!("explaining {name}"));
    let shown = args.worst.unwrap_or(if args.json { STALLS_LISTED } else { report::explain::STALLS_SHOWN });
    // The text counts the other stalls of a convoy of which it shows one.
    let listed = if args.json { shown } else { shown.max(STALLS_LISTED) };
    let scope = args.scope.of(run.description())?;
    let (explanation, accounting) =
        explanation_in(scope, &run, args.slower_than, listed, |warning| screen.warning(warning));
    let advice = advice(&run, &explanation, &accounting, &remedies);
    drop(busy);
    let integrity = Integrity::of(&run).explained(Some(&explanation));
    let document = report::findings::document(&name, &explanation, &advice);
    if args.json {
        screen.json(&integrity.added(document));
    } else {
        let style = screen.style();
        let findings = report::findings::text(&report::findings::findings(&document), style);
        let text = report::explain::text(&name, &explanation, &findings, shown, style);
        screen.result(&(integrity.banner(style) + &text));
        if args.what_if {
            screen.result(&report::explain::ranking(&advice, style));
        }
    }
    Ok(integrity.exit())
}

/// The built-in remedies, and those of a file.
fn remedies(file: Option<&Path>) -> Result<Remedies, Failure> {
    let mut remedies = Remedies::shipped();
    if let Some(file) = file {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file)
            .map_err(|error| Failure::usage(format_args!("--remedies: cannot read {name}: {error}")))?;
        remedies.add(&name, &text).map_err(|error| Failure::usage(format_args!("--remedies: {error}")))?;
    }
    Ok(remedies)
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
