//! Simulations: the figures of each policy side by side, histograms in familiar forms, hangs.

mod histogram;
mod json;

#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::time::Duration;

use model::quantity::{Bytes, Nanoseconds};
use model::quantity::{counted, grouped};
use model::simulation::{Course, Figure, Hang, Origin, Simulation};

use crate::number::share;
use crate::style::{Style, printable};
use crate::table::{push_table, table};

pub use json::json;
pub(crate) use json::of_run as json_of_run;

/// A simulated policy.
#[derive(Debug)]
pub struct PolicyRun {
    /// Its run directory.
    pub run: String,
    /// What was simulated.
    pub simulation: Simulation,
    /// Its figures, histograms and end.
    pub course: Course,
    /// Elapsed time, including writing the run.
    pub took: Duration,
}

/// The line above all output of a model.
pub fn badge(origin: &Origin) -> String {
    let seed = origin.seed.map_or_else(String::new, |seed| format!(", seed {seed}"));
    let (model, policy) = (printable(&origin.model), printable(&origin.policy));
    format!("SIMULATED by the model '{model}', policy '{policy}'{seed}: nothing here was measured on a machine")
}

/// The whole text. `set` are the parameters set by the user.
pub fn text(about: &str, set: &[String], seed: u64, runs: &[PolicyRun], style: Style) -> String {
    let Some(first) = runs.first() else { return String::new() };
    let mut text = String::new();
    let title = format!("Simulated: {}, seed {seed}", first.simulation.model);
    let _ = writeln!(text, "{}", style.heading(&title));
    let _ = writeln!(text, "{}", style.faint(&format!("{about}; nothing here was measured on a machine")));
    if !set.is_empty() {
        let _ = writeln!(text, "{}", style.faint(&format!("with {}", printable(&set.join(", ")))));
    }
    text.push('\n');
    for one in runs {
        let _ = writeln!(text, " {}: {}", one.simulation.policy, one.simulation.about);
    }
    text.push('\n');
    figures(&mut text, runs, style);
    for one in runs {
        text.push_str(&endings(Some(&one.simulation.policy), &one.course, style));
    }
    for one in runs {
        text.push_str(&histograms(Some(&one.simulation.policy), &one.course, style));
    }
    text.push('\n');
    for one in runs {
        let _ = writeln!(text, " {}", style.faint(&pace(one)));
    }
    text
}

/// The part of a run's summary about its simulation: figures, end, histograms.
pub fn of_run(course: &Course, style: Style) -> String {
    let mut text = format!("\n{}\n", style.heading("The model's figures"));
    let width = course.figures.iter().map(|figure| figure.name.len()).max().unwrap_or(0);
    for figure in &course.figures {
        let shown = shown(figure);
        let _ = writeln!(text, " {:<width$} {shown:>12}  {}", figure.name, style.faint(&printable(&figure.about)));
    }
    text.push_str(&endings(None, course, style));
    text.push_str(&histograms(None, course, style));
    text
}

/// As many policies side by side as fit the width, the others below.
fn figures(text: &mut String, runs: &[PolicyRun], style: Style) {
    let names = names(runs);
    let head = |last: &str| std::iter::once(String::new()).chain(names.iter().cloned()).chain([last.to_owned()]);
    let head: Vec<String> = head("simulated time").collect();
    let columns: Vec<Vec<String>> = runs.iter().map(|one| column(one, &runs[0], &names)).collect();
    let wide = |column: &[String]| column.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
    let mut from = 0;
    while from < columns.len() {
        let mut width = wide(&head) + 1;
        let fits = columns[from..].iter().take_while(|column| {
            width += wide(column) + 2;
            width <= style.width
        });
        let to = from + fits.count().max(1);
        if from > 0 {
            text.push('\n');
        }
        rows(text, &head, &columns[from..to]);
        from = to;
    }
    if from > 1 {
        let first = printable(&runs[0].simulation.policy);
        let _ = writeln!(text, " {}", style.faint(&format!("x: ratio to '{first}'")));
    }
}

/// A policy's name, its figures in the order of `names`, and the simulated time.
fn column(one: &PolicyRun, first: &PolicyRun, names: &[String]) -> Vec<String> {
    let of = |one: &PolicyRun, name: &String| one.course.figures.iter().find(|figure| figure.name == *name).cloned();
    let cell = |name: &String| {
        let Some(figure) = of(one, name) else { return "-".to_owned() };
        let of_first = of(first, name).and_then(|figure| figure.value);
        match ratio(figure.value, of_first).filter(|_| !std::ptr::eq(one, first)) {
            Some(ratio) => format!("{} (x {})", shown(&figure), factor(ratio)),
            None => shown(&figure),
        }
    };
    let mut cells = vec![printable(&one.simulation.policy)];
    cells.extend(names.iter().map(cell));
    cells.push(Nanoseconds(one.course.ended_ns).to_string());
    cells
}

fn rows(text: &mut String, head: &[String], columns: &[Vec<String>]) {
    let row = |at: usize| std::iter::once(head[at].clone()).chain(columns.iter().map(move |column| column[at].clone()));
    let mut table = table(&row(0).collect::<Vec<_>>(), 1);
    for at in 1..head.len() {
        table.add_row(row(at));
    }
    push_table(text, &table);
}

/// Names of all figures, without repetition, in the models' order.
fn names(runs: &[PolicyRun]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for figure in runs.iter().flat_map(|one| &one.course.figures) {
        if !names.contains(&figure.name) {
            names.push(figure.name.clone());
        }
    }
    names
}

/// The ratio to the first policy's value; `None` if one is missing or the first is 0.
fn ratio(value: Option<f64>, first: Option<f64>) -> Option<f64> {
    let (value, first) = value.zip(first)?;
    (first != 0.0).then(|| value / first)
}

fn factor(ratio: f64) -> String {
    match ratio.abs() {
        0.0 => "0".to_owned(),
        r if r < 0.01 => format!("{ratio:.1e}"),
        r if r < 10.0 => format!("{ratio:.2}"),
        _ => grouped_float(ratio),
    }
}

/// A figure's value with its unit.
pub fn shown(figure: &Figure) -> String {
    let Some(value) = figure.value else { return "-".to_owned() };
    let whole = value.max(0.0).round() as u64;
    match figure.unit() {
        "ns" => Nanoseconds(whole).to_string(),
        "bytes" => Bytes(whole).to_string(),
        "bytes/s" => format!("{}/s", Bytes(whole)),
        "share" => share(value),
        unit => format!("{}{}", grouped_float(value), if unit.is_empty() { String::new() } else { format!(" {unit}") }),
    }
}

fn grouped_float(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        v if v >= 100.0 => {
            format!("{}{}", if value < 0.0 { "-" } else { "" }, grouped(v.round() as u64))
        }
        v if value.fract() == 0.0 => format!("{}{v:.0}", if value < 0.0 { "-" } else { "" }),
        v if v < 0.01 => format!("{value:.1e}"),
        _ => format!("{value:.2}"),
    }
}

/// A hang: who waits for whom.
fn endings(policy: Option<&str>, course: &Course, style: Style) -> String {
    let Some(hang) = &course.hang else { return String::new() };
    let mut text = String::new();
    let at = Nanoseconds(hang.at_ns);
    let of = policy.map_or_else(String::new, |policy| format!(" of {}", printable(policy)));
    let title = format!("HANG: no progress is possible after {at}{of}");
    let _ = writeln!(text, "\n{}", style.bad(&title));
    for line in waiters(hang) {
        let _ = writeln!(text, "  {line}");
    }
    text
}

/// Waiters shown individually.
const WAITERS_SHOWN: usize = 20;

/// Who waits for what, and who could provide it.
pub fn waiters(hang: &Hang) -> Vec<String> {
    let line = |waiter: &model::simulation::Waiter| {
        let from = match waiter.from.is_empty() {
            true => "no task can provide it".to_owned(),
            false => format!("from {}", waiter.from.join(", ")),
        };
        let since = Nanoseconds(waiter.since_ns);
        printable(&format!("{} waits since {since} for {}; {from}", waiter.task, waiter.awaits))
    };
    let mut lines: Vec<String> = hang.waiters.iter().take(WAITERS_SHOWN).map(line).collect();
    if let Some(more) = hang.waiters.len().checked_sub(WAITERS_SHOWN).filter(|more| *more > 0) {
        lines.push(format!("and {}", counted(more as u64, "other task")));
    }
    lines
}

fn histograms(policy: Option<&str>, course: &Course, style: Style) -> String {
    let mut text = String::new();
    for histogram in course.histograms.iter().filter(|histogram| !histogram.rows.is_empty()) {
        let of = policy.map_or_else(String::new, |policy| format!(", {policy}"));
        let title = format!("{}{}", printable(&histogram.name), printable(&of));
        let _ = writeln!(text, "\n{}", style.heading(&title));
        text.push_str(&histogram::text(histogram));
    }
    text
}

fn pace(one: &PolicyRun) -> String {
    let seconds = one.took.as_secs_f64();
    let per_s = if seconds > 0.0 { one.course.events as f64 / seconds } else { 0.0 };
    format!(
        "{}: {} in {}, {} events/s including writing; {}",
        one.simulation.policy,
        counted(one.course.events, "event"),
        Nanoseconds(one.took.as_nanos() as u64),
        grouped(per_s.round() as u64),
        printable(&one.run)
    )
}
