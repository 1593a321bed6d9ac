//! Tables for issues and merge requests.

use std::fmt::Write as _;

use compare::Comparison;

use super::value::{change, digits, interval, probability, value, verdict};
use super::words;

/// All metrics and stalls.
pub fn markdown(found: &[Comparison]) -> String {
    let mut text = String::new();
    for one in found {
        let (a, b) = (cell(&one.a.0), cell(&one.b.0));
        let _ = writeln!(text, "## {b} against {a}\n\n{} runs of {b}, {} of {a}.\n", one.b.1, one.a.1);
        for difference in &one.differences {
            let side = |value: &Option<String>| cell(value.as_deref().unwrap_or("unknown"));
            let kind = match (&difference.implied_by, difference.intended) {
                (Some(setting), _) => format!("Follows from {}", cell(setting)),
                (None, true) => "Under test".to_owned(),
                (None, false) => "**Differs too**".to_owned(),
            };
            let _ = writeln!(
                text,
                "- {kind}: {}: {} → {}",
                cell(&difference.what),
                side(&difference.a),
                side(&difference.b)
            );
        }
        one.cautions.iter().for_each(|caution| {
            let _ = writeln!(text, "- **Caution:** {}", cell(caution));
        });
        let _ = writeln!(text, "\n| metric | {a} | {b} | change | 95 % interval | p | q | verdict |");
        let _ = writeln!(text, "|---|---:|---:|---:|---:|---:|---:|---|");
        for metric in &one.metrics {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} | {} | {} |",
                cell(&metric.name),
                value(metric.typical_a(), &metric.unit),
                value(metric.typical_b(), &metric.unit),
                change(metric.ratio.ratio),
                interval(&metric.ratio),
                probability(metric.p),
                probability(metric.q),
                verdict(metric)
            );
        }
        if !one.stalls.is_empty() {
            let _ = writeln!(text, "\n| stalls a run | {a} | {b} | change | 95 % interval | verdict |");
            let _ = writeln!(text, "|---|---:|---:|---:|---:|---|");
        }
        for stall in &one.stalls {
            let of_count =
                |text: &dyn Fn(&compare::Compared) -> String| stall.count.as_ref().map_or_else(|| "-".to_owned(), text);
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} |",
                stall.cause,
                digits(stall.per_run.0),
                digits(stall.per_run.1),
                of_count(&|count| change(count.ratio.ratio)),
                of_count(&|count| interval(&count.ratio)),
                words(stall.verdict())
            );
        }
        text.push('\n');
    }
    text
}

/// A name from outside must not end the cell, nor begin a tag.
fn cell(text: &str) -> String {
    crate::style::printable(text).replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;")
}
