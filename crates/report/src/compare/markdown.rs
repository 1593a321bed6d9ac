//! Tables for issues and merge requests.

use std::fmt::Write as _;

use compare::{Compared, ComparedStalls, Comparison, Difference};
use model::quantity::counted;

use super::machines;
use super::text::{per_what, stalls_of};
use super::value::{change, interval, probability, value, verdict};
use super::words;

/// All differences, metrics and stalls.
pub fn markdown(found: &[Comparison]) -> String {
    let mut text = String::new();
    for comparison in found {
        let (a, b) = (cell(&comparison.a.0), cell(&comparison.b.0));
        let (a_runs, b_runs) = (comparison.a.1, counted(comparison.b.1 as u64, "run"));
        let _ = writeln!(text, "## {b} against {a}\n\n{b_runs} of {b}, {a_runs} of {a}.\n");
        if let Some(machines) = machines::sentence(comparison) {
            let _ = writeln!(text, "- {}", cell(&machines));
        }
        comparison.differences.iter().for_each(|found| difference(&mut text, found));
        for caution in &comparison.cautions {
            let _ = writeln!(text, "- **Caution:** {}", cell(caution));
        }
        let _ = writeln!(text, "\n| metric | {a} | {b} | change | 95 % interval | p | q | verdict |");
        let _ = writeln!(text, "|---|---:|---:|---:|---:|---:|---:|---|");
        comparison.metrics.iter().for_each(|found| metric(&mut text, found));
        if !comparison.stalls.is_empty() {
            let per = per_what(comparison);
            let _ = writeln!(text, "\n| stalls per {per} | {a} | {b} | change | 95 % interval | verdict |");
            let _ = writeln!(text, "|---|---:|---:|---:|---:|---|");
        }
        comparison.stalls.iter().for_each(|found| stalls(&mut text, found));
        text.push('\n');
    }
    text
}

fn difference(text: &mut String, difference: &Difference) {
    let side = |value: &Option<String>| cell(value.as_deref().unwrap_or("unknown"));
    let kind = match (&difference.implied_by, difference.intended) {
        (Some(setting), _) => format!("Implied by {}", cell(setting)),
        (None, true) => "Under test".to_owned(),
        (None, false) => "**Also differs**".to_owned(),
    };
    let (a, b) = (side(&difference.a), side(&difference.b));
    let _ = writeln!(text, "- {kind}: {}: {a} → {b}", cell(&difference.what));
}

fn metric(text: &mut String, metric: &Compared) {
    let cells = [
        cell(&metric.name),
        value(metric.typical_a(), &metric.unit),
        value(metric.typical_b(), &metric.unit),
        change(metric.ratio.ratio),
        interval(&metric.ratio),
        probability(metric.p),
        probability(metric.q),
        verdict(metric),
    ];
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

fn stalls(text: &mut String, stalls: &ComparedStalls) {
    let of_count = |cell: fn(&Compared) -> String| stalls.count.as_ref().map_or_else(|| "-".to_owned(), cell);
    let cells = [
        stalls.cause.to_owned(),
        stalls_of(stalls, Compared::typical_a, stalls.per_run.0),
        stalls_of(stalls, Compared::typical_b, stalls.per_run.1),
        of_count(|count| change(count.ratio.ratio)),
        of_count(|count| interval(&count.ratio)),
        words(stalls.verdict()).to_owned(),
    ];
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

/// A name from outside, escaped so that it cannot end the cell or start a tag.
fn cell(text: &str) -> String {
    crate::style::printable(text).replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;")
}
