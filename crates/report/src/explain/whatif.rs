//! What would help: the ranking of changes with their predicted effect.

use std::fmt::Write as _;

use comfy_table::Table;
use explain::whatif::{Advice, Choice, Estimate};
use model::quantity::Nanoseconds;
use model::quantity::grouped;

use crate::answer::title;
use crate::style::{Style, printable};
use crate::table::{push_section, table};

/// What every prediction assumes.
pub(crate) const ASSUMPTIONS: [&str; 7] = [
    "the same operations: one that the change does not touch keeps its time",
    "what waits behind a changed wait shrinks in proportion to what its holder no longer waits",
    "time that overlapped with the changed wait is as recorded: a next bottleneck that was hidden is not predicted",
    "a lifted limit leaves each request its own time at the device, without more competition for it",
    "a wait for a journal or writeback without a known end is for what the others wait for",
    "a closed loop under a limit waits as much longer as it is faster elsewhere",
    "'at best': how much of that the change achieves is unknown",
];

/// The whole ranking.
pub fn ranking(advice: &Advice, style: Style) -> String {
    let mut text = String::new();
    if advice.choices.is_empty() {
        let _ = writeln!(text, "\n{}", style.heading(heading(advice)));
        let _ = writeln!(text, " No remedy of the table changes at least 1 % of this time.");
        unknown(&mut text, advice, style);
        return text;
    }
    let rows = figures(advice);
    push_section(&mut text, &format!("{} (predicted; 90 % intervals)", heading(advice)), &rows, style);
    text.push('\n');
    for (number, choice) in (1..).zip(&advice.choices) {
        remedies(&mut text, number, choice, style);
    }
    unknown(&mut text, advice, style);
    let live = "live: can be tried while the load runs, and reverted at once";
    let _ = writeln!(text, "\n {}", style.faint(live));
    let _ = writeln!(text, " {}", style.faint("Assumptions:"));
    for assumption in ASSUMPTIONS {
        let _ = writeln!(text, " {}", style.faint(&format!("- {assumption}")));
    }
    text
}

fn heading(advice: &Advice) -> &'static str {
    if advice.of_short_waits { "What would help against the shorter waits" } else { "What would help" }
}

/// What the run does not show: no limit is not the same.
fn unknown(text: &mut String, advice: &Advice, style: Style) {
    if advice.memory_limit_is_unknown {
        let line = "unknown: whether a memory limit was reached. Runs sample those of the 16 busiest cgroups, without \
                    the root.";
        let _ = writeln!(text, "\n {}", style.remark(line));
    }
}

/// The recorded and the predicted distributions.
fn figures(advice: &Advice) -> Table {
    let mut rows = table(&["", "still slow", "total", "p50", "p99", "max"], 1);
    let recorded = &advice.recorded;
    let ns = |ns: u64| Nanoseconds(ns).to_string();
    rows.add_row([
        "recorded".to_owned(),
        grouped(recorded.slow),
        ns(recorded.total_ns),
        ns(recorded.p50_ns),
        ns(recorded.p99_ns),
        ns(recorded.max_ns),
    ]);
    for (number, choice) in (1..).zip(&advice.choices) {
        let prediction = &choice.prediction;
        rows.add_row([
            format!("{number}{}", if choice.is_bound() { " at best" } else { "" }),
            interval(prediction.slow, grouped),
            interval(prediction.total_ns, ns),
            ns(prediction.p50_ns.value),
            ns(prediction.p99_ns.value),
            ns(prediction.max_ns.value),
        ]);
    }
    rows
}

fn interval(estimate: Estimate, words: impl Fn(u64) -> String) -> String {
    let (value, low, high) = (words(estimate.value), words(estimate.low), words(estimate.high));
    if low == high { value } else { format!("{value} ({low} to {high})") }
}

fn remedies(text: &mut String, number: usize, choice: &Choice, style: Style) {
    if choice.remedies.is_empty() {
        let _ = writeln!(text, " {number}: {}", title(choice));
    }
    for remedy in &choice.remedies {
        let live = if remedy.live { "; live" } else { "" };
        let _ = writeln!(text, " {number}: {} [{}{live}]", printable(&remedy.title), printable(&remedy.id));
        let _ = writeln!(text, "    {}", style.faint(&format!("risk: {}", printable(&remedy.risk))));
        if !remedy.read {
            let source = format!("{} was not read for it", printable(&remedy.source));
            let _ = writeln!(text, "    {}", style.faint(&source));
        }
    }
    if choice.prediction.assumed > 0 {
        let assumed = grouped(choice.prediction.assumed);
        let _ = writeln!(text, "    {}", style.faint(&format!("device time assumed for {assumed} of the operations")));
    }
}
