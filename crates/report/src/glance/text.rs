//! A moment as plain text, and one row in full.

use std::fmt::Write as _;

use explain::glance::{Glance, Memory};
use model::quantity::{Bytes, Nanoseconds};

use super::tables::{Align, Panel, Table, table};
use crate::explain::one_stall;
use crate::number::share;
use crate::style::{Style, printable};

/// The whole moment; `title` names the run and the time.
pub fn text(title: &str, glance: &Glance, filter: &str, style: Style) -> String {
    let mut text = format!("{}\n{}\n", style.heading(title), memory_line(&glance.memory));
    for panel in Panel::ALL {
        text.push('\n');
        write_table(&mut text, &table(panel, glance, 0, filter, style), style);
    }
    for (what, why, remedy) in &glance.explanation.losses.missing {
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
    let widths: Vec<usize> = (0..table.columns.len()).map(width).collect();
    let line = |cells: Vec<&str>| {
        let mut line = String::new();
        for ((cell, column), width) in cells.into_iter().zip(&table.columns).zip(&widths) {
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
pub fn details(panel: Panel, index: usize, glance: &Glance, style: Style) -> Vec<String> {
    let cells = || {
        let table = table(panel, glance, 0, "", style);
        let row = table.rows.iter().find(|row| row.index == index);
        let cells = row.map_or_else(Vec::new, |row| row.cells.clone());
        let named = table.columns.iter().zip(cells).filter(|(_, cell)| !cell.is_empty());
        named.map(|(column, cell)| format!("{:<12} {cell}", column.name)).collect::<Vec<String>>()
    };
    match panel {
        Panel::Stalls => glance.explanation.stalls.get(index).map_or_else(Vec::new, |stall| {
            let (_, whole_ns) = glance.whole.get(index).copied().unwrap_or((0, stall.duration_ns));
            let mut lines: Vec<String> = one_stall(stall, style).lines().map(str::to_owned).collect();
            if whole_ns != stall.duration_ns {
                lines.push(String::new());
                let (part, whole) = (Nanoseconds(stall.duration_ns), Nanoseconds(whole_ns));
                lines.push(format!("The window shows {part} of {whole}."));
            }
            lines.extend(stall.cgroup.iter().map(|cgroup| format!("cgroup {}", printable(cgroup))));
            lines
        }),
        Panel::Stuck => {
            let mut lines = cells();
            if let Some(one) = glance.stuck.get(index) {
                lines.retain(|line| !line.starts_with("at "));
                lines.extend(one.cgroup.iter().map(|cgroup| format!("{:<12} {}", "cgroup", printable(cgroup))));
                lines.push(String::new());
                lines.extend(one.frames.iter().map(|frame| format!("  {}", printable(frame))));
            }
            lines
        }
        _ => cells(),
    }
}
