//! Capabilities of the output: colour, Unicode, width.

/// Capabilities of a terminal or file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// ANSI colours.
    pub color: bool,
    /// Characters beyond ASCII.
    pub unicode: bool,
    /// Columns.
    pub width: usize,
}

impl Style {
    /// For files and pipes: ASCII, no colours, 100 columns.
    pub const PLAIN: Style = Style { color: false, unicode: false, width: 100 };

    /// A heading.
    pub fn heading(&self, text: &str) -> String {
        self.paint(text, "1")
    }

    /// Something bad.
    pub fn bad(&self, text: &str) -> String {
        self.paint(text, "31")
    }

    /// Something good.
    pub fn good(&self, text: &str) -> String {
        self.paint(text, "32")
    }

    /// A remark: noteworthy, not an error.
    pub fn remark(&self, text: &str) -> String {
        self.paint(text, "33")
    }

    /// Secondary text.
    pub fn faint(&self, text: &str) -> String {
        self.paint(text, "2")
    }

    fn paint(&self, text: &str, code: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// A name from outside (a path, a command, a device) made safe for a terminal: control characters are escaped, and so
/// are those that turn the direction of writing, end a line, or are invisible: a name must not look like another one.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if is_unsafe(c) { c.escape_default().to_string() } else { c.to_string() }).collect()
}

fn is_unsafe(c: char) -> bool {
    const DIRECTION_AND_LINES: [std::ops::RangeInclusive<char>; 3] =
        ['\u{200e}'..='\u{200f}', '\u{2028}'..='\u{202e}', '\u{2066}'..='\u{2069}'];
    const OTHERS: [char; 4] = ['\u{61c}', '\u{200b}', '\u{2060}', '\u{feff}'];
    c.is_control() || OTHERS.contains(&c) || DIRECTION_AND_LINES.iter().any(|range| range.contains(&c))
}

/// A whole text made safe for a terminal, as the last line of defence: of control characters it keeps ends of lines,
/// tabs and colours.
pub fn guarded(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = colour(rest).unwrap_or(c.len_utf8());
        let (part, after) = rest.split_at(length);
        if length > c.len_utf8() || matches!(c, '\n' | '\t') || !is_unsafe(c) {
            safe.push_str(part);
        } else {
            safe.extend(c.escape_default());
        }
        rest = after;
    }
    safe
}

/// A JSON document made safe for a terminal: its strings are the same.
pub fn guarded_json(text: &str) -> String {
    let escaped = |c: char| if c != '\n' && is_unsafe(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    text.chars().map(escaped).collect()
}

/// Length of the colour sequence that a text begins with.
fn colour(text: &str) -> Option<usize> {
    let numbers = text.strip_prefix("\x1b[")?;
    let end = numbers.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    numbers[end..].starts_with('m').then_some(text.len() - numbers.len() + end + 1)
}

/// Columns of a line: fewer cannot be read as lines, more not at a glance.
const COLUMNS: std::ops::RangeInclusive<usize> = 60..=100;

/// The columns of running text.
pub(crate) fn columns(style: Style) -> usize {
    style.width.clamp(*COLUMNS.start(), *COLUMNS.end())
}

/// Words as lines of so many columns, each with an indent. A longer word has a line of its own.
pub(crate) fn filled<'a>(words: impl Iterator<Item = &'a str>, indent: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!("{indent}{word}")),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{guarded, guarded_json, is_unsafe, printable};

    proptest! {
        #[test]
        fn no_text_keeps_a_control_sequence(text in ".*", names in proptest::collection::vec(any::<char>(), 0..40)) {
            let text = text + &String::from_iter(names);
            prop_assert!(!printable(&text).chars().any(is_unsafe));
            let left = guarded(&text);
            prop_assert!(!left.replace(['\n', '\t'], "").chars().any(|c| is_unsafe(c) && c != '\x1b'));
            let document = guarded_json(&serde_json::json!(text).to_string());
            prop_assert!(!document.chars().any(is_unsafe));
            prop_assert_eq!(serde_json::from_str::<String>(&document).unwrap(), text);
        }
    }

    #[test]
    fn of_control_sequences_colours_are_left() {
        assert_eq!(
            guarded("\x1b[1;31mbad\x1b[0m\n\x1b[2J\x1b]0;t\x07\r"),
            "\x1b[1;31mbad\x1b[0m\n\\u{1b}[2J\\u{1b}]0;t\\u{7}\\r"
        );
        assert_eq!(guarded("\x1b[1"), "\\u{1b}[1");
    }

    #[test]
    fn control_characters_in_a_file_name_are_escaped() {
        assert_eq!(printable("a\x1b[2Jb\n"), "a\\u{1b}[2Jb\\n");
        assert_eq!(printable("plain-näme"), "plain-näme");
        assert_eq!(printable("\u{9b}2J\u{202e}gpj.exe\u{2028}"), "\\u{9b}2J\\u{202e}gpj.exe\\u{2028}");
    }
}
