//! `explain`: why the slow operations of a run were slow.

mod options;
mod set;

use std::path::Path;

use remedy::Remedies;

pub use options::ExplainArgs;

use crate::reading::answer::{Explained, Question};
use crate::reading::explanation::STALLS_LISTED;
use crate::reading::run_set;
use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;

/// Explains a run; it may still be recording.
pub fn explain(args: &ExplainArgs, screen: &Screen) -> Result<Exit, Failure> {
    let remedies = remedies(args.remedies.as_deref())?;
    if let Some(set) = run_set::open(&args.run)? {
        return set::explain(args, &set, &remedies, screen);
    }
    let run = Explained::open(&args.run)?;
    let name = args.run.display().to_string();
    let busy = screen.busy(&format!("explaining {name}"));
    let shown = args.worst.unwrap_or(if args.json { STALLS_LISTED } else { report::explain::STALLS_SHOWN });
    // The text counts the other stalls of a convoy of which it shows one.
    let worst = if args.json { shown } else { shown.max(STALLS_LISTED) };
    let scope = args.scope.of(run.description())?;
    let question = Question { scope, slower_than_ns: args.slower_than, worst, remedies: &remedies };
    let explained = Explained::read(&run, question, |warning| screen.warning(warning));
    drop(busy);
    let exit = explained.integrity.exit();
    if args.json {
        screen.json(&explained.into_document());
        return Ok(exit);
    }
    let style = screen.style();
    let text = report::explain::text(&name, &explained.explanation, &explained.answer, shown, style);
    screen.result(&(explained.integrity.banner(style) + &text));
    if args.why {
        screen.result(&report::explain::rules(&explained.explanation, shown, style));
    }
    if args.what_if {
        screen.result(&report::explain::ranking(&explained.advice, style));
    }
    Ok(exit)
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
