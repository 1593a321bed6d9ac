//! The worst stalls, individually.

use std::fmt::Write as _;

use explain::blame::{Explanation, Link, Stall, StallCause};
use model::quantity::Nanoseconds;

use super::wording::words;
use crate::number::share;
use crate::style::{Style, printable};

/// Causes shown for one stall.
const CAUSES: usize = 4;
/// Least share of the stall of a cause that is shown.
const LEAST: f64 = 0.01;

pub(super) fn stalls(text: &mut String, explanation: &Explanation, limit: usize, style: Style) {
    let shown = &explanation.stalls[..limit.min(explanation.stalls.len())];
    if shown.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{}", style.heading("Worst stalls"));
    for (at, stall) in shown.iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        one(text, stall, style);
    }
    let more = explanation.slow_operations.saturating_sub(shown.len() as u64);
    if more > 0 {
        let _ = writeln!(text, "{}", style.faint(&format!(" {more} more; see --worst and --json")));
    }
}

/// The worst one.
pub(super) fn worst(text: &mut String, explanation: &Explanation, style: Style) {
    if let Some(stall) = explanation.stalls.first() {
        let _ = writeln!(text, "\n Worst stall:");
        one(text, stall, style);
    }
}

pub(super) fn one(text: &mut String, stall: &Stall, style: Style) {
    let path = stall.path.as_deref().map_or_else(String::new, |path| format!(" of {}", printable(path)));
    let took = Nanoseconds(stall.duration_ns);
    let (who, what) = (printable(&stall.task.to_string()), printable(&stall.operation));
    let lasted = if stall.finished { format!("took {took}") } else { format!("had not finished after {took}") };
    let _ = writeln!(text, " {}", style.heading(&format!("{what}{path} by {who} {lasted}")));
    let part = |cause: &StallCause| cause.time_ns as f64 / stall.duration_ns.max(1) as f64;
    for cause in stall.causes.iter().take(CAUSES).filter(|cause| part(cause) >= LEAST) {
        let time = Nanoseconds(cause.time_ns).to_string();
        let _ = writeln!(text, "   {time:>9}  {:>6}  {}", share(part(cause)), cause_words(cause));
    }
    chain(text, stall);
}

/// Starts at the second link: the first repeats the stall's causes.
fn chain(text: &mut String, stall: &Stall) {
    for (depth, pair) in stall.chain.windows(2).enumerate() {
        let indent = " ".repeat(5 + depth * 2);
        let _ = writeln!(text, "{indent}{}", link_words(&pair[0], &pair[1]));
    }
    let submitter = stall.request.as_ref().filter(|request| !request.throttled).map(|request| &request.task);
    // The submitter matters only if it is not the last waiter of the chain.
    let waited = stall.chain.last().and_then(|last| last.task.as_ref());
    if let Some(submitter) = submitter.filter(|submitter| waited.is_none_or(|waited| waited.tid != submitter.tid)) {
        let indent = " ".repeat(3 + stall.chain.len() * 2);
        let _ = writeln!(text, "{indent}for a request by {}", printable(&submitter.to_string()));
    }
}

fn cause_words(cause: &StallCause) -> String {
    let detail = cause.detail.as_deref().map_or_else(String::new, |detail| format!(": {}", printable(detail)));
    format!("{}{detail}", words(cause.cause))
}

fn link_words(before: &Link, link: &Link) -> String {
    let who = link.task.as_ref().map_or_else(|| "an unknown task".to_owned(), |task| printable(&task.to_string()));
    let detail = link.detail.as_deref().map_or_else(String::new, |detail| format!(": {}", printable(detail)));
    let begin = if before.task == link.task { "that is".to_owned() } else { format!("woken by {who}:") };
    format!("{begin} {} {}{detail}", Nanoseconds(link.time_ns), words(link.cause))
}
