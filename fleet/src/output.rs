//! Answers as text and JSON.

use std::io::IsTerminal;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde_json::Value;

use crate::answer::Answer;

/// Width of text that goes to no terminal.
const WIDTH: u16 = 160;

/// JSON, with a newline.
pub(crate) fn json_text(value: &Value) -> String {
    format!("{value:#}\n")
}

/// A table as wide as the terminal or `COLUMNS`. It has no colours, so that `NO_COLOR` is kept. `titles` rename
/// columns.
pub(crate) fn table(answer: &Answer, titles: &[(&str, &str)]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(width());
    let title = |name: &String| {
        titles
            .iter()
            .find(|(from, _)| from == name)
            .map_or_else(|| name.replace('_', " "), |(_, to)| to.replace('_', " "))
    };
    table.set_header(answer.columns.iter().map(title));
    for row in &answer.rows {
        table.add_row(row.iter().zip(&answer.columns).map(|(value, column)| shown(value, column)));
    }
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if answer.rows.iter().all(|row| row[at].is_number() || row[at].is_null()) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The first row as lines of name and value.
pub(crate) fn facts(answer: &Answer) -> String {
    let widest = answer.columns.iter().map(String::len).max().unwrap_or_default();
    let row = answer.rows.first().map(Vec::as_slice).unwrap_or_default();
    let line = |(column, value): (&String, &Value)| {
        format!("{:widest$}  {}\n", column.replace('_', " "), shown(value, column))
    };
    answer.columns.iter().zip(row).filter(|(_, value)| !value.is_null()).map(line).collect()
}

/// Unknown is a dash, absent is not zero. Control characters of names cannot reach the terminal.
fn shown(value: &Value, column: &str) -> String {
    match value {
        Value::Null => "-".into(),
        Value::String(text) => guarded(text.strip_suffix("000").filter(|_| is_moment(text)).unwrap_or(text)),
        Value::Number(number) if number.is_f64() => {
            let number = number.as_f64().unwrap_or_default();
            if column == "share" { format!("{:.1} %", 100.0 * number) } else { format!("{number:.3}") }
        }
        other => other.to_string(),
    }
}

/// `2026-11-23T10:00:00.123456`, of which milliseconds are enough.
fn is_moment(text: &str) -> bool {
    text.len() == 26 && text.as_bytes()[10] == b'T' && text.as_bytes()[19] == b'.'
}

fn guarded(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter }).collect()
}

fn width() -> u16 {
    let asked =
        std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|&columns: &u16| columns > 0);
    let stdout = std::io::stdout();
    let of_terminal =
        || rustix::termios::tcgetwinsize(&stdout).ok().map(|size| size.ws_col).filter(|&columns| columns > 0);
    asked.or_else(|| stdout.is_terminal().then(of_terminal)?).unwrap_or(WIDTH)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{shown, table};
    use crate::answer::Answer;

    #[test]
    fn unknown_values_are_dashes_and_control_characters_stay_out() {
        let mut answer = Answer::of(&["name", "share", "stalls"]);
        answer.rows =
            vec![vec![json!("a\u{1b}[31m"), json!(0.25), json!(7)], vec![json!(null), json!(0.75), json!(12)]];
        let text = table(&answer, &[("name", "kernel")]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("kernel"), "{text}");
        assert!(lines[1].starts_with("a\u{fffd}[31m") && lines[1].contains("25.0 %"), "{text}");
        assert!(lines[2].starts_with('-') && lines[2].ends_with("12"), "{text}");
        assert_eq!(shown(&json!("2026-11-23T10:00:00.123000"), "x"), "2026-11-23T10:00:00.123");
    }
}
