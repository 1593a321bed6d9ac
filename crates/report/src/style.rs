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

/// A name from outside (a path, a command, a device) made safe for a terminal: control characters are escaped.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn control_characters_in_a_file_name_are_escaped() {
        assert_eq!(printable("a\x1b[2Jb\n"), "a\\u{1b}[2Jb\\n");
        assert_eq!(printable("plain-näme"), "plain-näme");
    }
}
