//! A comparison as text: one screen, the most important first.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, Table};
use compare::{Compared, ComparedStalls, Comparison, Verdict};
use explain::blame::Cause;
use model::quantity::Nanoseconds;

use super::machines;
use super::names::headings;
use super::value::{change, digits, interval, probability, value, verdict};
use super::words;
use crate::number::counted;
use crate::style::{Style, printable};
use crate::table::table;

/// Rows of each table without --all.
const METRICS: usize = 14;
const CAUSES: usize = 6;
const COUNTERS: usize = 6;
const DIFFERENCES: usize = 8;
/// The unit of time lost where runs last differently.
const PER_SECOND: &str = "ns/s";
/// Longer values are cut: a kernel command line would fill the screen.
const LONGEST: usize = 40;

/// One side against another. With `all`, equivalent metrics and every counter are included.
pub fn text(found: &Comparison, all: bool, style: Style) -> String {
    let mut text = String::new();
    let (a, b) = (printable(&found.a.0), printable(&found.b.0));
    let title = format!("{b} against {a}");
    let _ = writeln!(text, "{}", style.heading(&title));
    let [a, b] = sides(found);
    let runs = format!("{} of {b}, {} of {a}", counted(found.b.1 as u64, "run"), found.a.1);
    let _ = writeln!(text, "{}", style.faint(&runs));
    if let Some(machines) = machines::sentence(found) {
        let _ = writeln!(text, "{}", style.faint(&machines));
    }
    differences(&mut text, found, all, style);
    cautions(&mut text, found, style);
    metrics(&mut text, found, all, style);
    stalls(&mut text, found, all, style);
    counters(&mut text, found, all, style);
    text
}

/// Writes a table; its rows (after the headings) are coloured by their verdicts.
pub(crate) fn push(text: &mut String, table: &Table, style: Style, verdicts: &[Verdict]) {
    for (at, line) in table.lines().enumerate() {
        let line = format!(" {}", line.trim_end());
        let verdict = at.checked_sub(1).and_then(|row| verdicts.get(row));
        let _ = match verdict {
            Some(Verdict::Worse) => writeln!(text, "{}", style.bad(&line)),
            Some(Verdict::Better) => writeln!(text, "{}", style.good(&line)),
            _ => writeln!(text, "{line}"),
        };
    }
}

fn differences(text: &mut String, found: &Comparison, all: bool, style: Style) {
    if found.differences.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{}", style.heading("Differences between the runs"));
    let shown = if all { found.differences.len() } else { DIFFERENCES };
    for one in found.differences.iter().take(shown) {
        let side = |value: &Option<String>| cut(value.as_deref().unwrap_or("unknown"), all);
        let line = format!(" {}: {} -> {}", printable(&one.what), side(&one.a), side(&one.b));
        let _ = match (&one.implied_by, one.intended) {
            (Some(setting), _) => writeln!(text, "{line}  (implied by {})", printable(setting)),
            (None, true) => writeln!(text, "{line}  (under test)"),
            (None, false) => writeln!(text, "{}", style.remark(&line)),
        };
    }
    more(text, found.differences.len(), shown, "difference", style);
}

pub(super) fn cut(value: &str, all: bool) -> String {
    let value = printable(value);
    if all || value.chars().count() <= LONGEST {
        return value;
    }
    format!("{}...", value.chars().take(LONGEST - 3).collect::<String>())
}

fn more(text: &mut String, there: usize, shown: usize, what: &str, style: Style) {
    if there > shown {
        let line = format!(" and {}; --all shows them", counted((there - shown) as u64, &format!("more {what}")));
        let _ = writeln!(text, "{}", style.faint(&line));
    }
}

fn cautions(text: &mut String, found: &Comparison, style: Style) {
    if !found.cautions.is_empty() {
        text.push('\n');
    }
    for caution in &found.cautions {
        let _ = writeln!(text, " {}", style.remark(&printable(caution)));
    }
}

fn metrics(text: &mut String, found: &Comparison, all: bool, style: Style) {
    if found.metrics.is_empty() {
        let _ = writeln!(text, "\n No metric is known for both sides.");
        return;
    }
    text.push('\n');
    let (equal, open): (Vec<&Compared>, Vec<&Compared>) =
        found.metrics.iter().partition(|metric| metric.verdict == Verdict::Equivalent && !all);
    let shown = if all { open.len() } else { METRICS };
    let [a, b] = sides(found);
    let mut rows = table(&["", &a, &b, "change", "95 % interval", "q", ""], 1);
    if let Some(column) = rows.column_mut(6) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    for metric in open.iter().take(shown) {
        rows.add_row(row(metric));
    }
    let verdicts: Vec<Verdict> = open.iter().take(shown).map(|metric| metric.verdict).collect();
    if !verdicts.is_empty() {
        push(text, &rows, style, &verdicts);
    }
    more(text, open.len(), shown, "metric", style);
    if !equal.is_empty() {
        let margin = |metric: &&Compared| (metric.margin * 1000.0).round() as u64;
        let names: Vec<String> = equal.iter().map(|metric| printable(&metric.name)).collect();
        let first = margin(&equal[0]);
        let within = match equal.iter().all(|metric| margin(metric) == first) {
            true => format!("within {} %", percent(equal[0].margin)),
            false => "within the noise floor (A/A)".to_owned(),
        };
        let _ = writeln!(text, " {}", style.faint(&format!("equivalent, {within}: {}", names.join(", "))));
    }
}

/// Rounded, without binary floating-point digits.
fn percent(share: f64) -> f64 {
    (share * 1e4).round() / 100.0
}

/// The columns of both sides.
fn sides(found: &Comparison) -> [String; 2] {
    let mut headings = headings(&[&found.a.0, &found.b.0]).into_iter();
    std::array::from_fn(|_| headings.next().unwrap_or_default())
}

fn row(metric: &Compared) -> Vec<String> {
    vec![
        printable(&metric.name),
        value(metric.typical_a(), &metric.unit),
        value(metric.typical_b(), &metric.unit),
        change(metric.ratio.ratio),
        interval(&metric.ratio),
        probability(metric.q),
        verdict(metric),
    ]
}

fn stalls(text: &mut String, found: &Comparison, all: bool, style: Style) {
    if found.stalls.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{}", style.heading(&format!("Stalls per {}, by main cause", per_what(found))));
    let [a, b] = sides(found);
    let mut rows = table(&["", &a, &b, "change", "95 % interval", "q", "", "time lost"], 1);
    if let Some(column) = rows.column_mut(6) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    let shown = if all { found.stalls.len() } else { CAUSES };
    for stall in found.stalls.iter().take(shown) {
        rows.add_row(stall_row(stall));
    }
    let verdicts: Vec<Verdict> = found.stalls.iter().take(shown).map(ComparedStalls::verdict).collect();
    push(text, &rows, style, &verdicts);
    more(text, found.stalls.len(), shown, "cause", style);
}

fn stall_row(stall: &ComparedStalls) -> Vec<String> {
    let count = stall.count.as_ref();
    let of_count = |text: fn(&Compared) -> String| count.map_or_else(|| "-".to_owned(), text);
    let cause = Cause::ALL.into_iter().find(|cause| cause.name() == stall.cause);
    let said =
        if stall.time.verdict.is_decided() { format!(" ({})", words(stall.time.verdict)) } else { String::new() };
    let (a, b) = match stall.time.unit.as_str() {
        unit @ PER_SECOND => (value(stall.time.typical_a(), unit), value(stall.time.typical_b(), unit)),
        _ => (of_run(stall.time_per_run_ns.0), of_run(stall.time_per_run_ns.1)),
    };
    let time = format!("{a} -> {b}{said}");
    vec![
        cause.map_or(stall.cause, Cause::words).to_owned(),
        stalls_of(stall, Compared::typical_a, stall.per_run.0),
        stalls_of(stall, Compared::typical_b, stall.per_run.1),
        of_count(|count| change(count.ratio.ratio)),
        of_count(|count| interval(&count.ratio)),
        of_count(|count| probability(count.q)),
        of_count(verdict),
        time,
    ]
}

fn of_run(ns: f64) -> String {
    Nanoseconds(ns as u64).to_string()
}

/// What the stalls are counted by.
pub(super) fn per_what(found: &Comparison) -> &'static str {
    if found.stalls.first().is_some_and(|stall| stall.time.unit == PER_SECOND) { "second" } else { "run" }
}

/// The number of stalls in the unit of their ratio.
pub(super) fn stalls_of(stall: &ComparedStalls, side: fn(&Compared) -> f64, per_run: f64) -> String {
    let of_second = stall.count.as_ref().filter(|_| stall.time.unit == PER_SECOND);
    of_second.map_or_else(|| digits(per_run), |count| value(side(count), &count.unit))
}

fn counters(text: &mut String, found: &Comparison, all: bool, style: Style) {
    let different: Vec<&Compared> =
        found.counters.iter().filter(|counter| all || counter.verdict == Verdict::Different).collect();
    if different.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{}", style.heading("Kernel counters that differ most"));
    let [a, b] = sides(found);
    let mut rows = table(&["", &a, &b, "change", "95 % interval", "q", ""], 1);
    if let Some(column) = rows.column_mut(6) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    let shown = if all { different.len() } else { COUNTERS };
    for counter in different.iter().take(shown) {
        let mut cells = row(counter);
        cells[6] = printable(&counter.unit);
        rows.add_row(cells);
    }
    push(text, &rows, style, &[]);
    more(text, different.len(), shown, "counter", style);
}
