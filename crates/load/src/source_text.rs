//! Texts with locations, and messages that point into them.

use std::fmt;
use std::ops::Range;

/// A named text: a recipe file, or the value of a command-line flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceText {
    /// Path of the file, or the flag with its dashes.
    pub name: String,
    /// All of it.
    pub text: String,
}

/// A mistake and its location, shown as `file:line:column: message`, the line, and a caret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// `file:line:column`, or a flag.
    pub place: String,
    /// What is wrong, and the remedy if there is one.
    pub message: String,
    /// The line with the mistake.
    pub line: String,
    /// Column of the mistake in `line`, in characters from 0.
    pub column: usize,
    /// Its length in characters, at least 1.
    pub width: usize,
}

impl std::error::Error for Diagnostic {}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let carets = "^".repeat(self.width);
        write!(
            f,
            "{}: {}\n  | {}\n  | {:column$}{carets}",
            self.place,
            self.message,
            self.line,
            "",
            column = self.column
        )
    }
}

impl SourceText {
    /// A recipe file.
    pub(crate) fn new(name: impl Into<String>, text: impl Into<String>) -> SourceText {
        SourceText { name: name.into(), text: text.into() }
    }

    /// Whether this is the value of a flag, where line numbers are meaningless.
    fn is_flag(&self) -> bool {
        self.name.starts_with('-')
    }

    /// Describes a mistake at a byte range of the text. A range outside the text points to its end.
    pub(crate) fn diagnostic(&self, span: Range<usize>, message: impl Into<String>) -> Box<Diagnostic> {
        let start = self.boundary(span.start);
        let end = self.boundary(span.end).max(start);
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |at| start + at);
        let number = self.text[..line_start].matches('\n').count() + 1;
        let column = self.text[line_start..start].chars().count();
        let place = if self.is_flag() { self.name.clone() } else { format!("{}:{number}:{}", self.name, column + 1) };
        Box::new(Diagnostic {
            place,
            // A name in it must not begin a line of its own.
            message: message.into().replace('\n', "\\n"),
            line: self.text[line_start..line_end].replace('\t', " ").trim_end().to_owned(),
            column,
            width: self.text[start..end.min(line_end)].chars().count().max(1),
        })
    }

    fn boundary(&self, at: usize) -> usize {
        (0..=at.min(self.text.len())).rev().find(|&at| self.text.is_char_boundary(at)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::SourceText;

    #[test]
    fn a_span_outside_the_text_or_inside_a_character_points_somewhere_sensible() {
        let source = SourceText::new("x.toml", "é = 1\n");
        assert_eq!(source.diagnostic(1..2, "m").place, "x.toml:1:1");
        assert_eq!(source.diagnostic(99..120, "m").place, "x.toml:2:1");
    }
}
