//! A run directory → why its slow operations were slow.

use std::path::Path;

use archive::{ArchiveError, Batches, Run};
use explain::blame::{Accounting, Blame, Explanation};

use crate::ui::screen::Screen;

/// A trace of at most this size is explained in well under a second.
const QUICK_BYTES: u64 = 4 << 20;

/// Prints the causes in one sentence, and the worst stall. Nothing if the kernel was not traced, or with `hurry` if it
/// would take long.
pub fn print_brief(directory: &Path, hurry: bool, screen: &Screen) {
    if let Some(explanation) = of_finished(directory, hurry, screen) {
        let name = directory.display().to_string();
        screen.result(&report::explain::brief(&name, &explanation, screen.style()));
    }
}

/// Prints the full explanation of a run that has just ended, with the `worst` stalls.
pub fn print_full(directory: &Path, worst: usize, screen: &Screen) {
    if let Some(explanation) = of_finished(directory, false, screen) {
        let name = directory.display().to_string();
        screen.result(&format!("\n{}", report::explain::text(&name, &explanation, worst, screen.style())));
    }
}

fn of_finished(directory: &Path, hurry: bool, screen: &Screen) -> Option<Explanation> {
    let run = Run::open(directory).ok().filter(Run::has_trace)?;
    if hurry && run.trace_bytes() > QUICK_BYTES {
        screen.remark(&format!("why operations were slow: stallscope explain {}", directory.display()));
        return None;
    }
    let _busy = screen.busy("explaining");
    Some(explanation(&run, None, |warning| screen.warning(warning)))
}

/// Explains a run.
pub fn explanation(run: &Run, slower_than_ns: Option<u64>, warn: impl Fn(&str)) -> Explanation {
    explanation_with_accounting(run, slower_than_ns, warn).0
}

/// Explains a run, and keeps the accounting. Requests come last: of millions only those are kept that a stall refers to.
pub fn explanation_with_accounting(
    run: &Run,
    slower_than_ns: Option<u64>,
    warn: impl Fn(&str),
) -> (Explanation, Accounting) {
    let mut blame = Blame::new(slower_than_ns, run.description());
    blame.events(run.events());
    each(run.intervals(), &warn, |rows| blame.intervals(&rows));
    each(run.operations(), &warn, |rows| blame.operations(&rows));
    each(run.tasks(), &warn, |rows| blame.tasks(&rows));
    each(run.stacks(), &warn, |rows| blame.stacks(&rows));
    each(run.stalls(), &warn, |rows| blame.stalls(&rows));
    each(run.requests(), &warn, |rows| blame.requests(&rows));
    blame.finish_with_accounting()
}

/// A damaged batch is reported and skipped: the rest of the run is still worth explaining.
fn each<Row>(batches: Batches<Row>, warn: impl Fn(&str), mut take: impl FnMut(Vec<Row>)) {
    for batch in batches {
        match batch {
            Ok(rows) => take(rows),
            Err(error @ ArchiveError::Damaged { .. }) => warn(&format!("{error}; skipped in the explanation")),
            Err(error) => warn(&error.to_string()),
        }
    }
}
