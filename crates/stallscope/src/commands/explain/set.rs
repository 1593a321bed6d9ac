//! The same of a run on several nodes.

use remedy::Remedies;

use super::options::ExplainArgs;
use crate::reading::answer::untraced;
use crate::reading::explained_set::ExplainedSet;
use crate::reading::explanation::STALLS_LISTED;
use crate::reading::run_set::RunSet;
use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;

pub(super) fn explain(args: &ExplainArgs, set: &RunSet, remedies: &Remedies, screen: &Screen) -> Result<Exit, Failure> {
    if let Some((_, run)) = set.read().find(|(_, run)| !run.has_trace()) {
        return Err(untraced(run));
    }
    if set.read().next().is_none() {
        let integrity = set.integrity();
        return Err(Failure::found(integrity.lacks().collect::<Vec<_>>().join("; ")));
    }
    let shown = args.worst.unwrap_or(if args.json { STALLS_LISTED } else { report::explain::STALLS_SHOWN });
    let scope = set.scope(&args.scope, screen)?;
    let explained = {
        let _busy = screen.busy(&format!("explaining {}", set.directory.display()));
        ExplainedSet::of(set, args.slower_than, shown, &scope, remedies, screen)?
    };
    let together = explained.together(shown);
    let integrity = explained.integrity();
    if args.json {
        screen.json(&integrity.added(together.document));
        return Ok(integrity.exit());
    }
    let style = screen.style();
    screen.result(&(integrity.banner(style) + &explained.text(&together, shown, style)));
    if args.why {
        for (node, explanation) in explained.explanations() {
            screen.result(&format!("\n{}", style.heading(&format!("Node {node}"))));
            screen.result(&report::explain::rules(explanation, shown, style));
        }
    }
    if args.what_if {
        for (node, advice) in explained.advice() {
            screen.result(&format!("\n{}\n", style.heading(&format!("Node {node}"))));
            screen.result(&report::explain::ranking(advice, style));
        }
    }
    Ok(integrity.exit())
}
