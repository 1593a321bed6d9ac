//! A metric over two settings, as a scaling table.

use std::fmt::Write as _;

use compare::{Cell, Scaling};

use super::value::{digits, value};
use crate::style::{Style, printable};
use crate::table::{push_table, table};

/// A row per value of one setting, a column per value of the other.
pub fn scaling(found: &Scaling, style: Style) -> String {
    let mut text = String::new();
    let by =
        if found.columns.is_empty() { found.rows.clone() } else { format!("{} and {}", found.rows, found.columns) };
    let _ = writeln!(text, "{}", style.heading(&format!("{} by {}", printable(&found.metric), printable(&by))));
    let mut headings = vec![printable(&found.rows)];
    headings.extend(found.column_values.iter().map(|value| printable(value)));
    let mut table = table(&headings, 0);
    for (name, cells) in found.row_values.iter().zip(&found.cells) {
        let mut row = vec![printable(name)];
        row.extend(cells.iter().map(|one| cell(one.as_ref(), &found.unit)));
        table.add_row(row);
    }
    push_table(&mut text, &table);
    let note = " medians of the runs, with 95 % intervals from six runs on";
    let _ = writeln!(text, "{}", style.faint(note));
    text
}

fn cell(cell: Option<&Cell>, unit: &str) -> String {
    let Some(cell) = cell else { return "-".to_owned() };
    let middle = value(cell.median, unit);
    let end = |value: f64| if unit == "/s" { digits(value) } else { self::value(value, unit) };
    cell.interval.map_or(middle.clone(), |(low, high)| format!("{middle} ({} to {})", end(low), end(high)))
}
