//! Tables in plain text: headings and aligned cells, no rules.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use crate::style::Style;

/// An empty table. Columns from `right_from` on are aligned to the right.
pub(crate) fn table<T: AsRef<str>>(headings: &[T], right_from: usize) -> Table {
    let mut table = Table::new();
    let headings = headings.iter().map(AsRef::as_ref);
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled).set_header(headings);
    for column in table.column_iter_mut().skip(right_from) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A blank line and a heading.
pub(crate) fn push_heading(text: &mut String, title: &str, style: Style) {
    let _ = writeln!(text, "\n{}", style.heading(title));
}

/// The table's lines, indented by one column.
pub(crate) fn push_table(text: &mut String, table: &Table) {
    for line in table.lines() {
        let _ = writeln!(text, " {}", line.trim_end());
    }
}

/// A table under its heading.
pub(crate) fn push_section(text: &mut String, title: &str, table: &Table, style: Style) {
    push_heading(text, title, style);
    push_table(text, table);
}
