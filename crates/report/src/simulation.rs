//! Simulations: the figures of each policy side by side, histograms in the forms that people know, hangs.

mod histogram;
mod json;

#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::time::Duration;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use model::quantity::{Bytes, Nanoseconds};
use model::simulation::{Course, Figure, Hang, Origin, Simulation};

use crate::number::{counted, grouped, share};
use crate::style::{Style, printable};

pub use json::json;
pub(crate) use json::of_run as json_of_run;

/// A policy that was played.
#[derive(Debug)]
pub struct Played {
    /// Its run directory.
    pub run: String,
    /// What was simulated.
    pub simulation: Simulation,
    /// How it went.
    pub course: Course,
    /// How long that took, the writing of the run included.
    pub took: Duration,
}

/// What stands above everything that a model made.
pub fn badge(origin: &Origin) -> String {
    let seed = origin.seed.map_or_else(String::new, |seed| format!(", seed {seed}"));
    let (model, policy) = (printable(&origin.model), printable(&origin.policy));
    format!("SIMULATED by the model '{model}', policy '{policy}'{seed}: nothing here was measured on a machine")
}

/// All of it. `set` are the parameters that the person has set.
pub fn text(about: &str, set: &[String], seed: u64, played: &[Played], style: Style) -> String {
    let Some(first) = played.first() else { return String::new() };
    let mut text = String::new();
    let title = format!("Simulated: {}, seed {seed}", first.simulation.model);
    let _ = writeln!(text, "{}", style.heading(&title));
    let _ = writeln!(text, "{}", style.faint(&format!("{about}; nothing here was measured on a machine")));
    if !set.is_empty() {
        let _ = writeln!(text, "{}", style.faint(&format!("with {}", printable(&set.join(", ")))));
    }
    text.push('\n');
    for one in played {
        let _ = writeln!(text, " {}: {}", one.simulation.policy, one.simulation.about);
    }
    text.push('\n');
    figures(&mut text, played, style);
    for one in played {
        text.push_str(&endings(Some(&one.simulation.policy), &one.course, style));
    }
    for one in played {
        text.push_str(&histograms(Some(&one.simulation.policy), &one.course, style));
    }
    text.push('\n');
    for one in played {
        let _ = writeln!(text, " {}", style.faint(&pace(one)));
    }
    text
}

/// What a run shows of its simulation: its figures, its end, its histograms.
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

/// As many policies beside one another as there is room for, the others below them.
fn figures(text: &mut String, played: &[Played], style: Style) {
    let names = names(played);
    let head = |last: &str| std::iter::once(String::new()).chain(names.iter().cloned()).chain([last.to_owned()]);
    let head: Vec<String> = head("simulated time").collect();
    let columns: Vec<Vec<String>> = played.iter().map(|one| column(one, &played[0], &names)).collect();
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
        let first = printable(&played[0].simulation.policy);
        let _ = writeln!(text, " {}", style.faint(&format!("x: times the figure of '{first}'")));
    }
}

/// A policy's name and figures, in the order of their names, and the time that was simulated.
fn column(one: &Played, first: &Played, names: &[String]) -> Vec<String> {
    let of = |one: &Played, name: &String| one.course.figures.iter().find(|figure| figure.name == *name).cloned();
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
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    for (at, name) in head.iter().enumerate() {
        let row = std::iter::once(name.clone()).chain(columns.iter().map(|column| column[at].clone()));
        match at {
            0 => table.set_header(row),
            _ => table.add_row(row),
        };
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for line in table.lines() {
        let _ = writeln!(text, " {}", line.trim_end());
    }
}

/// Names of figures, each once, in the order of the models.
fn names(played: &[Played]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for figure in played.iter().flat_map(|one| &one.course.figures) {
        if !names.contains(&figure.name) {
            names.push(figure.name.clone());
        }
    }
    names
}

/// How a value relates to that of the first policy; `None` where one is missing or the first is 0.
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

/// A hang, told as one: who waits for whom.
fn endings(policy: Option<&str>, course: &Course, style: Style) -> String {
    let Some(hang) = &course.hang else { return String::new() };
    let mut text = String::new();
    let at = Nanoseconds(hang.at_ns);
    let of = policy.map_or_else(String::new, |policy| format!(" of {}", printable(policy)));
    let title = format!("HANG: after {at}{of} nothing would ever have happened again");
    let _ = writeln!(text, "\n{}", style.bad(&title));
    for line in waiters(hang) {
        let _ = writeln!(text, "  {line}");
    }
    text
}

/// Waiters that are shown one by one.
const WAITERS_SHOWN: usize = 20;

/// Who waits for what, and who could give it.
pub fn waiters(hang: &Hang) -> Vec<String> {
    let line = |waiter: &model::simulation::Waiter| {
        let from = match waiter.from.is_empty() {
            true => "nobody can give it".to_owned(),
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

fn pace(one: &Played) -> String {
    let seconds = one.took.as_secs_f64();
    let per_s = if seconds > 0.0 { one.course.events as f64 / seconds } else { 0.0 };
    format!(
        "{}: {} in {}, {} events/s with the writing; {}",
        one.simulation.policy,
        counted(one.course.events, "event"),
        Nanoseconds(one.took.as_nanos() as u64),
        grouped(per_s.round() as u64),
        printable(&one.run)
    )
}
