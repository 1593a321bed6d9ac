//! A comparison as text: one screen of the width of a mail, the most important first.

use std::fmt::Write as _;

use comfy_table::Table;
use compare::{Compared, ComparedStalls, Comparison, Verdict};
use explain::blame::Cause;
use model::quantity::Nanoseconds;
use model::quantity::{counted, grouped};

use super::mail::{narrow_table, push_by_verdict, side_headings, wrapped};
use super::value::{change, digits, interval, value};
use super::{machines, names, words};
use crate::style::{Style, printable};
use crate::table::push_table;

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
    let _ = writeln!(text, "{}", style.heading(wrapped(&title).trim_start()));
    let [a, b] = names::headings(&[&found.a.0, &found.b.0]).try_into().unwrap_or_default();
    let [letter_a, letter_b] = if sides(found)[0] == a { ["", ""] } else { ["A: ", "B: "] };
    let runs = format!("{letter_b}{} of {b}, {letter_a}{} of {a}", counted(found.b.1 as u64, "run"), found.a.1);
    let _ = writeln!(text, "{}", style.faint(wrapped(&runs).trim_start()));
    if let Some(machines) = machines::sentence(found) {
        let _ = writeln!(text, "{}", style.faint(wrapped(&machines).trim_start()));
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
        let line = format!("{}: {} -> {}", printable(&one.what), side(&one.a), side(&one.b));
        let _ = match (&one.implied_by, one.intended) {
            (Some(setting), _) => {
                writeln!(text, "{}", wrapped(&format!("{line} (implied by {})", printable(setting))))
            }
            (None, true) => writeln!(text, "{}", wrapped(&format!("{line} (under test)"))),
            (None, false) => writeln!(text, "{}", style.remark(&wrapped(&line))),
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
        let _ = writeln!(text, "{}", style.remark(&wrapped(&printable(caution))));
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
    let rows: Vec<Vec<String>> = open.iter().take(shown).map(|metric| row(metric)).collect();
    let verdicts: Vec<Verdict> = open.iter().take(shown).map(|metric| metric.verdict).collect();
    if !verdicts.is_empty() {
        push_by_verdict(text, &narrow_table(&headings(&a, &b), &rows), style, &verdicts);
    }
    needed(text, open.iter().take(shown).copied(), style);
    more(text, open.len(), shown, "metric", style);
    if !equal.is_empty() {
        let margin = |metric: &&Compared| (metric.margin * 1000.0).round() as u64;
        let names: Vec<String> = equal.iter().map(|metric| printable(&metric.name)).collect();
        let first = margin(&equal[0]);
        let within = match equal.iter().all(|metric| margin(metric) == first) {
            true => format!("within {} %", percent(equal[0].margin)),
            false => "within the noise floor (A/A)".to_owned(),
        };
        let line = wrapped(&format!("equivalent, {within}: {}", names.join(", ")));
        let _ = writeln!(text, "{}", style.faint(&line));
    }
}

/// Rounded, without binary floating-point digits.
fn percent(share: f64) -> f64 {
    (share * 1e4).round() / 100.0
}

/// The columns of both sides.
fn sides(found: &Comparison) -> [String; 2] {
    side_headings(names::headings(&[&found.a.0, &found.b.0]).try_into().unwrap_or_default())
}

fn headings<'a>(a: &'a str, b: &'a str) -> [&'a str; 6] {
    ["", a, b, "change", "95 % interval", "n"]
}

/// Runs with a value: those of A, those of B.
fn runs(metric: &Compared) -> String {
    format!("{}+{}", metric.a.len(), metric.b.len())
}

/// How many more runs a side would give a verdict.
fn needed<'a>(text: &mut String, metrics: impl Iterator<Item = &'a Compared>, style: Style) {
    let needed =
        metrics.filter_map(|metric| Some(format!("{} {}", printable(&metric.name), grouped(metric.need_runs?))));
    let needed: Vec<String> = needed.collect();
    if !needed.is_empty() {
        let line = wrapped(&format!("more runs a side for a verdict: {}", needed.join(", ")));
        let _ = writeln!(text, "{}", style.faint(&line));
    }
}

fn row(metric: &Compared) -> Vec<String> {
    vec![
        printable(&metric.name),
        value(metric.typical_a(), &metric.unit),
        value(metric.typical_b(), &metric.unit),
        change(metric.ratio.ratio),
        interval(&metric.ratio),
        runs(metric),
    ]
}

fn stalls(text: &mut String, found: &Comparison, all: bool, style: Style) {
    if found.stalls.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{}", style.heading(&format!("Stalls per {}, by main cause", per_what(found))));
    let [a, b] = sides(found);
    let shown = if all { found.stalls.len() } else { CAUSES };
    let stalls = || found.stalls.iter().take(shown);
    let rows: Vec<Vec<String>> = stalls().map(stall_row).collect();
    let verdicts: Vec<Verdict> = stalls().map(ComparedStalls::verdict).collect();
    push_by_verdict(text, &narrow_table(&headings(&a, &b), &rows), style, &verdicts);
    let lost: Vec<Vec<String>> = stalls().map(lost_row).collect();
    let _ = writeln!(text, "\n{}", style.heading(&format!("Time lost per {}", per_what(found))));
    push_table(text, &narrow_table(&["", &a, &b, ""], &lost));
    more(text, found.stalls.len(), shown, "cause", style);
}

fn cause_words(stall: &ComparedStalls) -> String {
    let cause = Cause::ALL.into_iter().find(|cause| cause.name() == stall.cause);
    cause.map_or(stall.cause, Cause::words).to_owned()
}

fn stall_row(stall: &ComparedStalls) -> Vec<String> {
    let count = stall.count.as_ref();
    let of_count = |text: fn(&Compared) -> String| count.map_or_else(|| "-".to_owned(), text);
    vec![
        cause_words(stall),
        stalls_of(stall, Compared::typical_a, stall.per_run.0),
        stalls_of(stall, Compared::typical_b, stall.per_run.1),
        of_count(|count| change(count.ratio.ratio)),
        of_count(|count| interval(&count.ratio)),
        runs(count.unwrap_or(&stall.time)),
    ]
}

/// The time that stalls of a cause took, with the verdict on it.
fn lost_row(stall: &ComparedStalls) -> Vec<String> {
    let (a, b) = match stall.time.unit.as_str() {
        unit @ PER_SECOND => (value(stall.time.typical_a(), unit), value(stall.time.typical_b(), unit)),
        _ => (of_run(stall.time_per_run_ns.0), of_run(stall.time_per_run_ns.1)),
    };
    let said = if stall.time.verdict.is_decided() { words(stall.time.verdict) } else { "" };
    vec![cause_words(stall), a, b, said.to_owned()]
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
    let shown = if all { different.len() } else { COUNTERS };
    let cells = |counter: &&Compared| {
        let mut cells = row(counter);
        cells[4] = printable(&counter.unit);
        cells
    };
    let rows: Vec<Vec<String>> = different.iter().take(shown).map(cells).collect();
    push_table(text, &narrow_table(&["", &a, &b, "change", "", "n"], &rows));
    more(text, different.len(), shown, "counter", style);
}
