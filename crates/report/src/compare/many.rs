//! Many configurations against a baseline, one row for each.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use compare::{Compared, Comparison, Verdict};

use super::machines;
use super::text::{cut, push};
use super::value::{change, interval};
use crate::number::counted;
use crate::style::{Style, printable};
use crate::table::table;

/// Most metric columns.
const COLUMNS: usize = 5;
/// Metrics that come first if they are known.
const FIRST: [&str; 3] = ["work_per_s", "files_per_s", "bytes_per_s"];

/// An overview; [`super::text`] shows a single configuration.
pub fn many(baseline: &str, found: &[Comparison], style: Style) -> String {
    let mut text = String::new();
    let title = format!("{} against {}", counted(found.len() as u64, "configuration"), printable(baseline));
    let _ = writeln!(text, "{}\n", style.heading(&title));
    let columns = columns(found);
    let mut headings = vec!["", "runs", "worse", "better", "same", "open"];
    headings.extend(columns.iter().copied());
    let mut overview = table(&headings, 1);
    for one in found {
        let count = |verdict| one.metrics.iter().filter(|metric| metric.verdict == verdict).count().to_string();
        let mut row = vec![printable(&one.b.0), one.b.1.to_string()];
        let open = |verdict| matches!(verdict, Verdict::NotEnoughData | Verdict::Unfinished | Verdict::Censored);
        row.extend([Verdict::Worse, Verdict::Better, Verdict::Equivalent].map(count));
        row.push(one.metrics.iter().filter(|metric| open(metric.verdict)).count().to_string());
        row.extend(columns.iter().map(|column| cell(one.metrics.iter().find(|metric| metric.name == *column))));
        overview.add_row(row);
    }
    push(&mut text, &overview, style, &[]);
    let _ = writeln!(
        text,
        "{}",
        style.faint(
            " + better, - worse, = the same, ? not enough data, … unfinished or a lower bound; --only NAME shows one \
             configuration"
        )
    );
    let by_machine: BTreeSet<String> = found.iter().filter_map(machines::sentence).collect();
    if let Some(machines) = by_machine.iter().max_by_key(|line| line.len()) {
        let _ = writeln!(text, " {}", style.faint(machines));
    }
    largest_differences(&mut text, found, style);
    remarks(&mut text, found, style);
    text
}

/// The known rates, then the metrics decided for most configurations.
fn columns(found: &[Comparison]) -> Vec<&str> {
    let mut decided: BTreeMap<&str, usize> = BTreeMap::new();
    for metric in found.iter().flat_map(|one| &one.metrics) {
        *decided.entry(&metric.name).or_default() += usize::from(metric.verdict.is_decided());
    }
    let mut columns: Vec<&str> = FIRST.into_iter().filter(|name| decided.contains_key(name)).collect();
    let mut others: Vec<(&str, usize)> =
        decided.into_iter().filter(|(name, count)| *count > 0 && !FIRST.contains(name)).collect();
    others.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    columns.extend(others.into_iter().map(|(name, _)| name));
    columns.truncate(COLUMNS);
    columns
}

fn cell(metric: Option<&Compared>) -> String {
    let Some(metric) = metric else { return "unknown".to_owned() };
    let mark = match metric.verdict {
        Verdict::Better => "+",
        Verdict::Worse => "-",
        Verdict::Different => "!",
        Verdict::Equivalent => "=",
        Verdict::Unfinished | Verdict::Censored => "…",
        Verdict::NotEnoughData => "?",
    };
    format!("{} {mark}", change(metric.ratio.ratio))
}

/// The largest difference of each configuration.
fn largest_differences(text: &mut String, found: &[Comparison], style: Style) {
    let first = |one: &Comparison| one.metrics.iter().find(|metric| metric.verdict.is_decided()).cloned();
    let mut lines = table(&["the largest difference of each", "", "change", "95 % interval", ""], 2);
    let mut verdicts = Vec::new();
    for (one, metric) in found.iter().filter_map(|one| Some((one, first(one)?))) {
        lines.add_row([
            printable(&one.b.0),
            printable(&metric.name),
            change(metric.ratio.ratio),
            interval(&metric.ratio),
            super::words(metric.verdict).to_owned(),
        ]);
        verdicts.push(metric.verdict);
    }
    if !verdicts.is_empty() {
        text.push('\n');
        push(text, &lines, style, &verdicts);
    }
}

/// Unintended differences, and cautions, without repetition.
fn remarks(text: &mut String, found: &[Comparison], style: Style) {
    let mut lines: Vec<String> = Vec::new();
    for one in found {
        let differs = one.differences.iter().filter(|difference| !difference.intended).map(|difference| {
            let side = |value: &Option<String>| cut(value.as_deref().unwrap_or("unknown"), false);
            let what = printable(&difference.what);
            format!("{}: {what} differs: {} -> {}", printable(&one.b.0), side(&difference.a), side(&difference.b))
        });
        let cautions = one.cautions.iter().map(|caution| printable(caution));
        for line in differs.chain(cautions) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    const SHOWN: usize = 10;
    if !lines.is_empty() {
        text.push('\n');
    }
    for line in lines.iter().take(SHOWN) {
        let _ = writeln!(text, " {}", style.remark(line));
    }
    if lines.len() > SHOWN {
        let rest = counted((lines.len() - SHOWN) as u64, "more remark");
        let _ = writeln!(text, " {}", style.faint(&format!("and {rest}; --only NAME shows all of one configuration")));
    }
}
