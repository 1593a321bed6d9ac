//! A run on several nodes: the figures of all, then a line for each node and the ranks that were slow.

mod explained;
mod figures;
mod json;
mod nodes;

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use explain::summary::{Outlier, SetSummary, Summary};
use model::event::Member;
use model::quantity::{Bytes, Nanoseconds};
use model::quantity::{counted, grouped};
use model::set::{NodeClock, SetNode};

use crate::number::rate;
use crate::style::{Style, printable};
use crate::summary;
use crate::table::push_heading;
pub use explained::{brief, explained};
pub use figures::{NodeFigures, SetFigures};
pub use json::{of_set, summary as summary_json};
pub use nodes::ranks;

/// Outliers shown of each phase.
const OUTLIERS: usize = 3;
/// Outliers shown of all: a run may repeat its phases many times.
const MOST_OUTLIERS: usize = 12;
/// Worst operations shown.
const WORST: usize = 5;

/// The figures of all nodes: one screen.
pub fn text(set: &SetFigures<'_>, style: Style) -> String {
    let mut text = String::new();
    let Some(all) = set.all else {
        headline(&mut text, set, None, style);
        nodes::lines(&mut text, set, style);
        return text;
    };
    headline(&mut text, set, Some(&all.whole), style);
    summary::operations(&mut text, &all.whole, style);
    summary::phases(&mut text, &all.whole, style);
    summary::rates(&mut text, &all.whole, style);
    let node_of = |member: &Member| set.node_of(member.ordinal % set.set.ranks.max(1)).map(|node| node.name.clone());
    summary::failures::failures(&mut text, &all.whole, node_of, style);
    stalls(&mut text, set, all, style);
    nodes::lines(&mut text, set, style);
    outliers(&mut text, set, &all.outliers, style);
    recording(&mut text, set, style);
    let _ = writeln!(text, "\n{}", style.faint(&format!(" a node alone: stallscope show {}", example(set))));
    text
}

fn example(set: &SetFigures<'_>) -> String {
    set.nodes.iter().find(|node| node.summary.is_some()).map_or_else(String::new, |node| printable(node.run))
}

/// `ior on 2 nodes, 4 ranks: 10.0 s`, and whose clock counts.
fn headline(text: &mut String, set: &SetFigures<'_>, whole: Option<&Summary>, style: Style) {
    let workload = printable(&set.set.workload);
    let (nodes, ranks) = (counted(set.nodes.len() as u64, "node"), counted(set.set.ranks, "rank"));
    let lasted = whole.map_or_else(String::new, |whole| {
        format!(": {}{}", Nanoseconds(whole.duration_ns), summary::ending(whole.ending))
    });
    let _ = writeln!(text, "{}", style.heading(&format!("{workload} on {nodes}, {ranks}{lasted}")));
    let host = whole.map_or_else(String::new, |whole| format!("; {}", whole.host));
    let _ = writeln!(text, "{}", style.faint(&format!("{}{host}", printable(set.name))));
    let _ = writeln!(text, "{}", style.faint(&clocks(set.nodes.iter().map(|node| (node.node, node.clock)))));
}

/// `times are those of node a's clock, to which the others are known within 12 us`
pub(crate) fn clocks<'a>(nodes: impl Iterator<Item = (&'a SetNode, NodeClock)>) -> String {
    let nodes: Vec<(&SetNode, NodeClock)> = nodes.collect();
    let first = nodes.first().map_or_else(String::new, |(node, _)| printable(&node.name));
    let unknown: Vec<String> =
        nodes.iter().filter(|(_, clock)| clock.error_ns.is_none()).map(|(node, _)| printable(&node.name)).collect();
    let within = nodes.iter().filter_map(|(_, clock)| clock.error_ns).max().unwrap_or(0);
    match (&unknown[..], nodes.len()) {
        (_, 0 | 1) => format!("times are those of node {first}'s clock"),
        ([], _) => {
            format!("times are those of node {first}'s clock; the others are known within {}", Nanoseconds(within))
        }
        _ => format!(
            "times are those of node {first}'s clock; not measured, and related by the wall clocks: {}",
            unknown.join(", ")
        ),
    }
}

fn stalls(text: &mut String, set: &SetFigures<'_>, all: &SetSummary, style: Style) {
    let whole = &all.whole;
    if whole.operations.is_empty() {
        return;
    }
    push_heading(text, &format!("Stalls: operations slower than {}", Nanoseconds(whole.slower_than_ns)), style);
    if whole.slow.is_empty() && whole.worst.is_empty() {
        let _ = writeln!(text, " none");
    }
    let count = |count: &explain::summary::SlowCount| format!("{} {}", grouped(count.count), printable(&count.class));
    let counts: Vec<String> = whole.slow.iter().map(count).collect();
    if !counts.is_empty() {
        let _ = writeln!(text, " {}", counts.join(", "));
    }
    for (worst, on) in whole.worst.iter().zip(&all.worst_on).take(WORST) {
        let node = set.read(*on).map_or_else(String::new, |node| printable(&node.node.name));
        let _ = writeln!(text, " {node}: {}", summary::worst_line(worst, whole).trim_start());
    }
}

/// The ranks that were much slower than the others, with their node.
fn outliers(text: &mut String, set: &SetFigures<'_>, outliers: &[Outlier], style: Style) {
    if outliers.is_empty() {
        return;
    }
    push_heading(text, "Slow ranks", style);
    let mut shown = 0;
    for phase in outliers.chunk_by(|one, other| (&one.phase, one.repetition) == (&other.phase, other.repetition)) {
        for outlier in phase.iter().take(OUTLIERS.min(MOST_OUTLIERS - shown)) {
            shown += 1;
            let _ = writeln!(text, " {}", style.remark(&outlier_line(set, outlier)));
        }
    }
    if outliers.len() > shown {
        let _ = writeln!(text, "{}", style.faint(&format!(" and {} more; see --json", outliers.len() - shown)));
    }
}

/// `in write, repetition 1: rank 3 on b did 12.0 MiB/s, the median of 4 is 40.1 MiB/s`
fn outlier_line(set: &SetFigures<'_>, outlier: &Outlier) -> String {
    let per_s = |value: f64| if outlier.is_bytes { Bytes(value as u64).to_string() } else { rate(value) };
    let on = set.node_of_outlier(outlier).map_or_else(String::new, |node| format!(" on {}", printable(&node.name)));
    let repetition = match outlier.repetition {
        0 => String::new(),
        repetition => format!(", repetition {repetition}"),
    };
    format!(
        "in {}{repetition}: {} {}{on} did {}/s, the median of {} is {}/s",
        printable(&outlier.phase),
        printable(&outlier.actor),
        outlier.ordinal,
        per_s(outlier.per_s),
        outlier.of,
        per_s(outlier.median_per_s)
    )
}

/// What the recordings lost is said above the text; remarks are those of the nodes.
fn recording(text: &mut String, set: &SetFigures<'_>, style: Style) {
    for node in &set.nodes {
        let remarks = node.summary.map_or_else(Vec::new, summary::remark_lines);
        for remark in remarks {
            let _ = writeln!(text, " {}", style.remark(&format!("{}: {remark}", printable(&node.node.name))));
        }
    }
}
