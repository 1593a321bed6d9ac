//! The worst stalls, one by one.

use std::fmt::Write as _;

use explain::blame::{Explanation, Link, Stall, StallCause};
use model::quantity::Nanoseconds;

use super::words;
use crate::number::share;
use crate::style::{Style, printable};

/// Causes of one stall that are shown.
const CAUSES: usize = 4;

pub(super) fn stalls(text: &mut String, explanation: &Explanation, limit: usize, style: Style) {
    let shown = &explanation.stalls[..limit.min(explanation.stalls.len())];
    if shown.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{}", style.heading("The worst"));
    for (at, stall) in shown.iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        one(text, stall, style);
    }
    let more = explanation.slow_operations.saturating_sub(shown.len() as u64);
    if more > 0 {
        let _ = writeln!(text, "{}", style.faint(&format!(" {more} more; --json has the worst of them")));
    }
}

/// The worst alone.
pub(super) fn worst(text: &mut String, explanation: &Explanation, style: Style) {
    if let Some(stall) = explanation.stalls.first() {
        let _ = writeln!(text, "\n The worst:");
        one(text, stall, style);
    }
}

fn one(text: &mut String, stall: &Stall, style: Style) {
    let path = stall.path.as_deref().map_or_else(String::new, |path| format!(" of {}", printable(path)));
    let took = Nanoseconds(stall.duration_ns);
    let (who, what) = (printable(&stall.task.to_string()), printable(&stall.operation));
    let lasted = if stall.finished { format!("took {took}") } else { format!("had not ended after {took}") };
    let _ = writeln!(text, " {}", style.heading(&format!("{what}{path} by {who} {lasted}")));
    for cause in stall.causes.iter().take(CAUSES) {
        let part = cause.time_ns as f64 / stall.duration_ns.max(1) as f64;
        let time = Nanoseconds(cause.time_ns).to_string();
        let _ = writeln!(text, "   {time:>9}  {:>7}  {}", share(part), cause_words(cause));
    }
    // The first step says what the causes above say already.
    let mut before = stall.chain.first();
    for (depth, link) in stall.chain.iter().enumerate().skip(1) {
        let _ = writeln!(text, "   {}{}", "  ".repeat(depth), link_words(before, link));
        before = Some(link);
    }
    if let Some(request) = stall.request.as_ref().filter(|_| stall.chain.len() > 1) {
        let indent = "  ".repeat(stall.chain.len());
        let _ = writeln!(text, "   {indent}request by {}", printable(&request.task.to_string()));
    }
}

fn cause_words(cause: &StallCause) -> String {
    let detail = cause.detail.as_deref().map_or_else(String::new, |detail| format!(": {}", printable(detail)));
    format!("{}{detail}", words(cause.cause))
}

fn link_words(before: Option<&Link>, link: &Link) -> String {
    let who = link.task.as_ref().map_or_else(|| "somebody".to_owned(), |task| printable(&task.to_string()));
    let same = before.is_some_and(|before| before.task == link.task);
    let detail = link.detail.as_deref().map_or_else(String::new, |detail| format!(": {}", printable(detail)));
    let begin = if same { "that is".to_owned() } else { format!("woken by {who}, which had") };
    format!("{begin} {} {}{detail}", Nanoseconds(link.time_ns), words(link.cause))
}
