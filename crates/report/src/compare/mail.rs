//! What fits a mail: tables and paragraphs of at most 78 columns.

use std::fmt::Write as _;

use comfy_table::Table;
use compare::Verdict;

use super::words;
use crate::style::Style;
use crate::table::table;

/// Columns.
pub(super) const WIDTH: usize = 78;
/// Names are not cut below this.
const SHORTEST_NAME: usize = 12;
/// Longer names of sides are replaced by letters.
const LONGEST_SIDE: usize = 11;

/// Headings of both sides, if they are short, else `A` and `B`.
pub(super) fn side_headings([a, b]: [String; 2]) -> [String; 2] {
    let are_short = [&a, &b].iter().all(|name| name.chars().count() <= LONGEST_SIDE);
    if are_short { [a, b] } else { ["A", "B"].map(str::to_owned) }
}

/// A table whose first column gives way where it would be too wide.
pub(super) fn narrow_table(headings: &[&str], rows: &[Vec<String>]) -> Table {
    let made = |longest: usize| {
        let mut made = table(headings, 1);
        for row in rows {
            let mut row = row.clone();
            row[0] = middle_cut(&row[0], longest);
            made.add_row(row);
        }
        made
    };
    let whole = made(usize::MAX);
    let wide = width(&whole);
    if wide <= WIDTH {
        return whole;
    }
    let longest = rows.iter().map(|row| row[0].chars().count()).max().unwrap_or(0);
    made(longest.saturating_sub(wide - WIDTH).max(SHORTEST_NAME))
}

/// A table in parts, each with the first columns of every row: in the first part those that are `together`, and of the
/// others as many as fit.
pub(super) fn parted(headings: &[&str], rows: &[Vec<String>], together: usize) -> Vec<Table> {
    let part = |from: usize, to: usize| {
        let columns = || std::iter::once(0).chain(from..to);
        let headings: Vec<&str> = columns().map(|at| headings[at]).collect();
        let rows: Vec<Vec<String>> = rows.iter().map(|row| columns().map(|at| row[at].clone()).collect()).collect();
        (headings, rows)
    };
    let whole = |(headings, rows): &(Vec<&str>, Vec<Vec<String>>)| {
        let mut whole = table(headings, 1);
        whole.add_rows(rows.iter().cloned());
        width(&whole)
    };
    let (mut parts, mut from, mut to) = (Vec::new(), 1, together.max(1));
    while from < headings.len() {
        // At least one column, however wide.
        to = to.max(from + 1);
        while to < headings.len() && whole(&part(from, to + 1)) <= WIDTH {
            to += 1;
        }
        let (headings, rows) = part(from, to);
        parts.push(narrow_table(&headings, &rows));
        from = to;
    }
    parts
}

/// Columns of a table, and the one before it.
fn width(table: &Table) -> usize {
    table.lines().map(|line| line.trim_end().chars().count() + 1).max().unwrap_or(0)
}

/// Begin and end of a name.
fn middle_cut(name: &str, longest: usize) -> String {
    let characters: Vec<char> = name.chars().collect();
    if characters.len() <= longest {
        return name.to_owned();
    }
    let head = (longest - 2) / 2;
    let tail = longest - 2 - head;
    let text = |part: &[char]| part.iter().collect::<String>();
    format!("{}..{}", text(&characters[..head]), text(&characters[characters.len() - tail..]))
}

/// Writes a table whose rows come by verdict, each under its words.
pub(super) fn push_by_verdict(text: &mut String, table: &Table, style: Style, verdicts: &[Verdict]) {
    let mut lines = table.lines().map(|line| format!(" {}", line.trim_end()));
    let _ = writeln!(text, "{}", lines.next().unwrap_or_default());
    let mut last = None;
    for (line, verdict) in lines.zip(verdicts) {
        if last.replace(*verdict) != Some(*verdict) {
            let _ = writeln!(text, " {}", style.faint(&format!("{}:", words(*verdict))));
        }
        let line = match verdict {
            Verdict::Worse => style.bad(&line),
            Verdict::Better => style.good(&line),
            _ => line,
        };
        let _ = writeln!(text, "{line}");
    }
}

/// Words in lines, the first of them indented by a column and all others by three. A longer word has its own line.
pub(super) fn wrapped(words: &str) -> String {
    let mut text = String::new();
    let mut line = String::new();
    for word in words.split(' ').filter(|word| !word.is_empty()) {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
            text.push_str(&line);
            text.push('\n');
            line = "  ".to_owned();
        }
        line.push(' ');
        line.push_str(word);
    }
    text + &line
}

#[cfg(test)]
mod tests {
    use super::{WIDTH, narrow_table, parted, side_headings, wrapped};

    #[test]
    fn names_give_way_and_numbers_do_not() {
        let row = |name: &str| vec![name.to_owned(), "1".repeat(30), "2".repeat(30)];
        let table = narrow_table(&["", "a", "b"], &[row("a_rather_long_name_of_a_metric"), row("short")]);
        let lines: Vec<String> = table.lines().map(|line| format!(" {}", line.trim_end())).collect();
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH), "{lines:#?}");
        assert!(lines[1].contains("a_rat..etric") && lines[1].contains(&"2".repeat(30)), "{lines:#?}");
    }

    #[test]
    fn a_wide_table_has_parts_with_its_names() {
        let headings: Vec<String> = (0..9).map(|at| format!("column_{at}")).collect();
        let mut headings: Vec<&str> = headings.iter().map(String::as_str).collect();
        headings[0] = "";
        let row = |name: &str| {
            let cells = (1..9).map(|at| format!("{at}").repeat(14));
            std::iter::once(name.to_owned()).chain(cells).collect::<Vec<String>>()
        };
        let parts = parted(&headings, &[row("xfs"), row("ext4")], 3);
        let lines: Vec<Vec<String>> =
            parts.iter().map(|part| part.lines().map(|line| format!(" {}", line.trim_end())).collect()).collect();
        assert!(lines.iter().flatten().all(|line| line.chars().count() <= WIDTH), "{lines:#?}");
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|part| part[1].contains("xfs") && part[2].contains("ext4")), "{lines:#?}");
        let columns: Vec<&str> = lines.iter().flat_map(|part| part[0].split_whitespace()).collect();
        assert_eq!(columns, headings[1..]);
    }

    #[test]
    fn words_are_wrapped_and_sides_named() {
        let text = wrapped(&"word ".repeat(40));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH) && text.lines().count() == 3, "{text}");
        assert_eq!(text.split_whitespace().count(), 40);
        assert_eq!(side_headings(["xfs", "ext4"].map(str::to_owned)), ["xfs", "ext4"]);
        assert_eq!(side_headings(["xfs", "scheduler=none"].map(str::to_owned)), ["A", "B"]);
    }
}
