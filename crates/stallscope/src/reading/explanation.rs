//! A run directory → why its slow operations were slow.

use std::path::Path;

use archive::{ArchiveError, Batches, Run};
use explain::blame::{Accounting, Blame, Explanation, STEAL, Scope, is_of_limits};
use explain::series::SeriesSet;
use explain::whatif::{Advice, advise};
use model::quantity::Bytes;
use model::user_stack::UserFrameRecord;
use remedy::Remedies;
use report::answer::{Answer, STALLS};

use crate::reading::names_of_frames;
use crate::ui::screen::Screen;

/// A trace of at most this size is explained in well under a second.
const QUICK_BYTES: u64 = 4 << 20;
/// Memory for each byte of a trace that is explained: 187 MB for 10.5 MB, 1,412 MB for nine times that.
const MEMORY_OF_BYTE: u64 = 18;
/// Memory that a recorder may take for that in any case, and of what is available, the part (1/4) that it may take.
const MEMORY_BYTES: u64 = 256 << 20;
const PART_OF_MEMORY: u64 = 4;

/// Prints the answer. Nothing if the kernel was not traced, or with `hurry` if it
/// would take long.
pub fn print_brief(directory: &Path, scope: Scope, hurry: bool, screen: &Screen) {
    if let Some((explanation, answer)) = of_finished((directory, scope), hurry, STALLS, screen) {
        let name = directory.display().to_string();
        screen.result(&report::explain::brief(&name, &explanation, &answer, screen.style()));
    }
}

/// Stalls in the document, unless `--worst` says otherwise.
pub const STALLS_LISTED: usize = STALLS;

/// Prints the full explanation of a run that has just ended, with the `worst` stalls.
pub fn print_full(directory: &Path, worst: usize, screen: &Screen) {
    if let Some((explanation, answer)) =
        of_finished((directory, Scope::default()), false, worst.max(STALLS_LISTED), screen)
    {
        let name = directory.display().to_string();
        let text = report::explain::text(&name, &explanation, &answer, worst, screen.style());
        screen.result(&format!("\n{text}"));
    }
}

/// The explanation of a run that has just ended, and the answer.
fn of_finished(
    (directory, scope): (&Path, Scope),
    hurry: bool,
    worst: usize,
    screen: &Screen,
) -> Option<(Explanation, Answer)> {
    let run = Run::open(directory).ok().filter(Run::has_trace)?;
    if hurry && run.trace_bytes() > QUICK_BYTES {
        screen.remark(&format!("why operations were slow: stallscope explain {}", directory.display()));
        return None;
    }
    if !is_affordable(run.trace_bytes(), directory, screen) {
        return None;
    }
    let _busy = screen.busy("explaining");
    let (explanation, accounting) = explanation_in(scope, &run, None, worst, |warning| screen.warning(warning));
    let advice = advice(&run, &explanation, &accounting, &Remedies::shipped());
    let answer = Answer::of(&explanation, &advice);
    Some((explanation, answer))
}

/// Whether there is memory to explain traces of this size in all; else it says how to explain the directory.
pub fn is_affordable(trace_bytes: u64, directory: &Path, screen: &Screen) -> bool {
    let memory_bytes = trace_bytes.saturating_mul(MEMORY_OF_BYTE);
    let is_affordable = has_memory(memory_bytes, rig::available_bytes(&rig::Roots::default()));
    if !is_affordable {
        let (memory, directory) = (Bytes(memory_bytes), directory.display());
        let text = format!("why operations were slow takes about {memory} of memory: stallscope explain {directory}");
        screen.remark(&text);
    }
    is_affordable
}

/// Whether a recorder may take that much memory: it must not add to what it recorded, nor be killed for it.
fn has_memory(bytes: u64, available_bytes: Option<u64>) -> bool {
    bytes <= MEMORY_BYTES || available_bytes.is_none_or(|available| bytes <= available / PART_OF_MEMORY)
}

/// Predicts what would help the explained operations.
pub fn advice(run: &Run, explanation: &Explanation, accounting: &Accounting, remedies: &Remedies) -> Advice {
    advise(explanation, &accounting.all_waits(explanation), remedies, run.description())
}

/// Explains a run, and describes the `worst` stalls.
pub fn explanation(run: &Run, slower_than_ns: Option<u64>, worst: usize, warn: impl Fn(&str)) -> Explanation {
    explanation_with_accounting(run, slower_than_ns, worst, warn).0
}

/// Explains a run, and keeps the accounting.
pub fn explanation_with_accounting(
    run: &Run,
    slower_than_ns: Option<u64>,
    worst: usize,
    warn: impl Fn(&str),
) -> (Explanation, Accounting) {
    explanation_in(Scope::default(), run, slower_than_ns, worst, warn)
}

/// The same of the operations in scope. Requests come last: of millions only those are kept that a stall refers to.
pub fn explanation_in(
    scope: Scope,
    run: &Run,
    slower_than_ns: Option<u64>,
    worst: usize,
    warn: impl Fn(&str),
) -> (Explanation, Accounting) {
    let mut blame = Blame::new(slower_than_ns, run.description()).listing(worst).scoped(scope);
    blame.events(run.events());
    each(run.intervals(), &warn, |rows| blame.intervals(&rows));
    each(run.operations(), &warn, |rows| blame.operations(&rows));
    each(run.tasks(), &warn, |rows| blame.tasks(&rows));
    each(run.usage(), &warn, |rows| blame.usage(&rows));
    let counters = counters(run, &warn);
    blame.steal(&counters);
    blame.limits(&counters, run.description().host.page_size_bytes);
    each(run.stacks(), &warn, |rows| blame.stacks(&rows));
    each(run.user_stacks(), &warn, |rows| blame.user_stacks(&rows));
    blame.user_frames(&user_frames(run, &warn));
    each(run.stalls(), &warn, |rows| blame.stalls(&rows));
    each(run.requests(), &warn, |rows| blame.requests(&rows));
    blame.damage(&run.damage());
    blame.finish_with_accounting()
}

/// The places in programs, with the names that can be found here.
fn user_frames(run: &Run, warn: impl Fn(&str)) -> Vec<UserFrameRecord> {
    let mut frames = Vec::new();
    each(run.user_frames(), &warn, |rows| frames.extend(rows));
    frames.extend(names_of_frames::found_here(&frames, warn));
    frames
}

/// The counters of time that the hypervisor took, and limits of cgroups.
fn counters(run: &Run, warn: impl Fn(&str)) -> SeriesSet {
    let mut series = SeriesSet::default();
    each(run.descriptors(), &warn, |rows| {
        series.describe(&rows, |metric| metric.name == STEAL || is_of_limits(&metric.name))
    });
    if series.prefixed("").next().is_none() {
        return series;
    }
    each(run.samples(), &warn, |rows| rows.into_iter().for_each(|header| series.sample(header)));
    each(run.changes(), &warn, |rows| series.feed(&rows));
    series
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

#[cfg(test)]
mod tests {
    #[test]
    fn a_recorder_takes_a_part_of_what_is_available() {
        let (mib, has_memory) = (|number: u64| number << 20, super::has_memory);
        assert!(has_memory(mib(256), Some(mib(300))), "that much in any case");
        assert!(has_memory(mib(1400), Some(mib(5600))) && !has_memory(mib(1400), Some(mib(5599))));
        assert!(has_memory(mib(1400), None));
    }
}
