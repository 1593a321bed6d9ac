//! Fits a table's columns into a width.

use ratatui_core::text::{Line, Span};
use report::snapshot::{Align, Column, Table};
use report::style::Style;

/// Blanks between two columns.
const GAP: usize = 2;
/// Least width of a text column.
const LEAST: usize = 6;

/// Width of each column; 0 hides it.
pub(crate) fn widths(table: &Table, width: usize) -> Vec<usize> {
    let wide = |at: usize, column: &Column| {
        let cells = table.rows.iter().map(|row| cells(&row.cells[at]));
        cells.chain([cells_of_head(column)]).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = table.columns.iter().enumerate().map(|(at, column)| wide(at, column)).collect();
    // Keep the first column and the numbers; cut text, the widest first, then hide the last columns.
    loop {
        let used: usize = widths.iter().filter(|width| **width > 0).map(|width| width + GAP).sum::<usize>();
        let over = used.saturating_sub(width + GAP);
        if over == 0 {
            return widths;
        }
        let text = (0..widths.len()).filter(|&at| table.columns[at].align != Align::Right && widths[at] > LEAST);
        match text.max_by_key(|&at| widths[at]) {
            Some(widest) => {
                let next = (0..widths.len())
                    .filter(|&at| at != widest && table.columns[at].align != Align::Right)
                    .map(|at| widths[at])
                    .filter(|&other| other < widths[widest])
                    .max()
                    .unwrap_or(LEAST);
                let least = next.max(LEAST).min(widths[widest] - 1);
                widths[widest] = widths[widest].saturating_sub(over).max(least);
            }
            None => match widths.iter().rposition(|width| *width > 0).filter(|&at| at > 0) {
                Some(last) => widths[last] = 0,
                None => return vec![width],
            },
        }
    }
}

fn cells_of_head(column: &Column) -> usize {
    cells(column.name)
}

fn cells(text: &str) -> usize {
    Span::raw(text).width()
}

/// A row of cells as a line.
pub(crate) fn line(texts: &[&str], columns: &[Column], widths: &[usize], style: Style) -> Line<'static> {
    let mut line = String::new();
    for ((text, column), &width) in texts.iter().zip(columns).zip(widths).filter(|(_, width)| **width > 0) {
        let text = cut(text, column.align, width, style);
        let blank = " ".repeat(width.saturating_sub(cells(&text)));
        match column.align {
            Align::Right => line.extend([blank.as_str(), text.as_str()]),
            Align::Left | Align::Tail => line.extend([text.as_str(), blank.as_str()]),
        }
        line.push_str("  ");
    }
    Line::raw(line.trim_end().to_owned())
}

fn cut(text: &str, align: Align, width: usize, style: Style) -> String {
    let over = cells(text).saturating_sub(width);
    if over == 0 {
        return text.to_owned();
    }
    if align == Align::Tail {
        return text.chars().skip(over).collect();
    }
    let mark = if style.unicode { '…' } else { '~' };
    let mut kept = String::new();
    for character in text.chars() {
        kept.push(character);
        if cells(&kept) >= width {
            kept.pop();
            break;
        }
    }
    kept.push(mark);
    kept
}
