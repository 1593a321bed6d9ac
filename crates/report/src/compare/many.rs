//! Many configurations against a baseline, one row for each.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use compare::{Compared, Comparison, Verdict};
use model::quantity::counted;

use super::mail::{narrow_table, parted, wrapped};
use super::text::{cut, push};
use super::value::{change, interval};
use super::{machines, names};
use crate::style::{Style, printable};

/// Most metric columns.
const COLUMNS: usize = 5;
/// Metrics that come first if they are known.
const FIRST: [&str; 3] = ["work_per_s", "files_per_s", "bytes_per_s"];

/// Headings of the columns that are counts.
const COUNTS: [&str; 5] = ["runs", "worse", "better", "same", "open"];
const LEGEND: &str = "+ better, - worse, = the same, ? not enough data, … unfinished or a lower bound; --only NAME \
                      shows one configuration";

/// An overview of the width of a mail; [`super::text`] shows a single configuration.
pub fn many(baseline: &str, found: &[Comparison], style: Style) -> String {
    let mut text = String::new();
    let title = format!("{} against {}", counted(found.len() as u64, "configuration"), printable(baseline));
    let _ = writeln!(text, "{}\n", style.heading(wrapped(&title).trim_start()));
    let names = names::headings(&found.iter().map(|one| one.b.0.as_str()).collect::<Vec<_>>());
    overview(&mut text, found, &names, style);
    let _ = writeln!(text, "{}", style.faint(&wrapped(LEGEND)));
    let by_machine: BTreeSet<String> = found.iter().filter_map(machines::sentence).collect();
    if let Some(machines) = by_machine.iter().max_by_key(|line| line.len()) {
        let _ = writeln!(text, "{}", style.faint(&wrapped(machines)));
    }
    let short = names.iter().zip(found).filter(|(name, one)| **name != printable(&one.b.0));
    for (name, one) in short {
        let _ = writeln!(text, "{}", style.faint(&wrapped(&format!("{name}: {}", printable(&one.b.0)))));
    }
    largest_differences(&mut text, found, &names, style);
    remarks(&mut text, found, style);
    text
}

/// A row for each configuration: its verdicts, counted, and some metrics.
fn overview(text: &mut String, found: &[Comparison], names: &[String], style: Style) {
    let columns = columns(found);
    let headings: Vec<&str> = std::iter::once("").chain(COUNTS).chain(columns.iter().copied()).collect();
    let rows = found.iter().zip(names).map(|(one, name)| {
        let count = |verdict| one.metrics.iter().filter(|metric| metric.verdict == verdict).count().to_string();
        let mut row = vec![name.clone(), one.b.1.to_string()];
        let open = |verdict| matches!(verdict, Verdict::NotEnoughData | Verdict::Unfinished | Verdict::Censored);
        row.extend([Verdict::Worse, Verdict::Better, Verdict::Equivalent].map(count));
        row.push(one.metrics.iter().filter(|metric| open(metric.verdict)).count().to_string());
        row.extend(columns.iter().map(|column| cell(one.metrics.iter().find(|metric| metric.name == *column))));
        row
    });
    let parts = parted(&headings, &rows.collect::<Vec<_>>(), 1 + COUNTS.len());
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        push(text, part, style, &[]);
    }
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
fn largest_differences(text: &mut String, found: &[Comparison], names: &[String], style: Style) {
    let first = |one: &Comparison| one.metrics.iter().find(|metric| metric.verdict.is_decided()).cloned();
    let mut rows = Vec::new();
    let mut verdicts = Vec::new();
    for (name, metric) in found.iter().zip(names).filter_map(|(one, name)| Some((name, first(one)?))) {
        rows.push(vec![
            name.clone(),
            printable(&metric.name),
            change(metric.ratio.ratio),
            interval(&metric.ratio),
            super::words(metric.verdict).to_owned(),
        ]);
        verdicts.push(metric.verdict);
    }
    if !verdicts.is_empty() {
        let _ = writeln!(text, "\n{}", style.heading("The largest difference of each"));
        push(text, &narrow_table(&["", "", "change", "95 % interval", ""], &rows), style, &verdicts);
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
        let _ = writeln!(text, "{}", style.remark(&wrapped(line)));
    }
    if lines.len() > SHOWN {
        let rest = counted((lines.len() - SHOWN) as u64, "more remark");
        let line = wrapped(&format!("and {rest}; --only NAME shows all of one configuration"));
        let _ = writeln!(text, "{}", style.faint(&line));
    }
}
