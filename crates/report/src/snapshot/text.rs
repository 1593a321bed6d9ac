//! A moment as plain text, and one row in full.

use std::fmt::Write as _;

use explain::snapshot::{Memory, Snapshot};
use model::quantity::{Bytes, Nanoseconds};

use super::tables::{Align, Column, Panel, Table, table};
use crate::answer::Answer;
use crate::explain::{cgroup_words, one_stall, scope};
use crate::number::share;
use crate::style::{Style, printable};

/// Blanks between two columns.
const GAP: usize = 2;
/// Least width of a text column.
const LEAST: usize = 8;

/// The whole moment; `title` names the run and the time, `answer` says why.
pub fn text(title: &str, snapshot: &Snapshot, answer: &Answer, filter: &str, style: Style) -> String {
    let mut text = format!("{}\n{}\n", style.heading(title), memory_line(&snapshot.memory));
    let _ = write!(text, "\n{}", crate::answer::text(answer, None, style));
    scope(&mut text, &snapshot.explanation, style);
    for panel in Panel::ALL {
        text.push('\n');
        write_table(&mut text, &table(panel, snapshot, 0, filter, style), style);
    }
    for (what, why, remedy) in &snapshot.explanation.losses.missing {
        let words = [why.as_deref(), remedy.as_deref()].into_iter().flatten().collect::<Vec<_>>().join("; ");
        let _ = writeln!(text, "\n{}", style.remark(&printable(&format!("missing: {what}: {words}"))));
    }
    text
}

fn write_table(text: &mut String, table: &Table, style: Style) {
    let width = |at: usize| {
        let cells = table.rows.iter().map(|row| row.cells[at].chars().count());
        cells.chain([table.columns[at].name.chars().count()]).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = (0..table.columns.len()).map(width).collect();
    fit(&mut widths, &table.columns, style.width);
    let line = |cells: Vec<&str>| {
        let mut line = String::new();
        for ((cell, column), &width) in cells.into_iter().zip(&table.columns).zip(&widths) {
            let cell = cut(cell, column.align, width, style);
            let _ = match column.align {
                Align::Right => write!(line, "{cell:>width$}  "),
                Align::Left | Align::Tail => write!(line, "{cell:<width$}  "),
            };
        }
        line.trim_end().to_owned()
    };
    let head = line(table.columns.iter().map(|column| column.name).collect());
    let _ = writeln!(text, "{}", style.heading(&head));
    for row in &table.rows {
        let _ = writeln!(text, "{}", line(row.cells.iter().map(String::as_str).collect()));
    }
    if table.rows.is_empty() {
        let _ = writeln!(text, "{}", style.faint(table.empty));
    }
}

/// Narrows text, the widest column first; numbers are never cut. Tasks, paths and cgroups can be of any length.
fn fit(widths: &mut [usize], columns: &[Column], width: usize) {
    let gaps = GAP * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > width {
        let text = (0..widths.len()).filter(|&at| columns[at].align != Align::Right && widths[at] > LEAST);
        let Some(widest) = text.max_by_key(|&at| widths[at]) else { return };
        widths[widest] -= 1;
    }
}

/// A sparkline loses its begin, a text its end.
fn cut(cell: &str, align: Align, width: usize, style: Style) -> String {
    let over = cell.chars().count().saturating_sub(width);
    match align {
        _ if over == 0 => cell.to_owned(),
        Align::Tail => cell.chars().skip(over).collect(),
        Align::Left | Align::Right => {
            let mark = if style.unicode { '…' } else { '~' };
            cell.chars().take(width.saturating_sub(1)).chain([mark]).collect()
        }
    }
}

/// Memory and pressure in one line.
pub fn memory_line(memory: &Memory) -> String {
    let bytes = |bytes: Option<u64>| bytes.map_or_else(|| "-".to_owned(), |bytes| Bytes(bytes).to_string());
    let mut line = "PSI some".to_owned();
    if memory.pressure.is_empty() {
        line.push_str(" -");
    }
    for pressure in memory.pressure.iter().filter(|pressure| pressure.extent == "some") {
        let resource = if pressure.resource == "memory" { "mem" } else { pressure.resource };
        let _ = write!(line, " {resource} {}", share(pressure.share).replace(' ', ""));
    }
    let _ = write!(
        line,
        "  free {} of {}  dirty {}, in writeback {}",
        bytes(memory.available_bytes),
        bytes(memory.total_bytes),
        bytes(memory.dirty_bytes),
        bytes(memory.writeback_bytes)
    );
    line
}

/// All known facts of a row, one per line.
pub fn details(panel: Panel, index: usize, snapshot: &Snapshot, style: Style) -> Vec<String> {
    let cells = || {
        let table = table(panel, snapshot, 0, "", style);
        let row = table.rows.iter().find(|row| row.index == index);
        let cells = row.map_or_else(Vec::new, |row| row.cells.clone());
        let named = table.columns.iter().zip(cells).filter(|(_, cell)| !cell.is_empty());
        named.map(|(column, cell)| format!("{:<12} {cell}", column.name)).collect::<Vec<String>>()
    };
    let containers = &snapshot.explanation.containers;
    match panel {
        Panel::Stalls => snapshot.explanation.stalls.get(index).map_or_else(Vec::new, |stall| {
            let (_, whole_ns) = snapshot.whole.get(index).copied().unwrap_or((0, stall.duration_ns));
            let mut lines: Vec<String> = one_stall(stall, containers, style).lines().map(str::to_owned).collect();
            if whole_ns != stall.duration_ns {
                lines.push(String::new());
                let (part, whole) = (Nanoseconds(stall.duration_ns), Nanoseconds(whole_ns));
                lines.push(format!("The window shows {part} of {whole}."));
            }
            lines.extend(stall.cgroup.iter().map(|cgroup| format!("cgroup {}", cgroup_words(cgroup, containers))));
            lines
        }),
        Panel::Stuck => {
            let mut lines = cells();
            if let Some(one) = snapshot.stuck.get(index) {
                lines.retain(|line| !line.starts_with("at "));
                let cgroup = one.cgroup.iter().map(|cgroup| cgroup_words(cgroup, containers));
                lines.extend(cgroup.map(|cgroup| format!("{:<12} {cgroup}", "cgroup")));
                lines.push(String::new());
                lines.extend(one.frames.iter().map(|frame| format!("  {}", printable(frame))));
            }
            lines
        }
        _ => cells(),
    }
}
