//! A variable that the user may set, and how its value is parsed.

use super::section::Formula;
use crate::error::LoadError;
use crate::source_text::SourceText;
use crate::suggestion::nearest;
use crate::value::ValueKind;

/// A variable that the user may set.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Its name in formulas.
    pub name: String,
    /// Long flag, without dashes.
    pub flag: String,
    /// Short flag.
    pub short: Option<char>,
    /// One line for `--help`.
    pub help: String,
    /// The kind of its values.
    pub kind: ValueKind,
    /// Unit of a number given without one: `m`, `s`.
    pub plain: Option<String>,
    /// Formula of its default value.
    pub default: Formula,
    /// Allowed words, for a variable of kind `word`.
    pub words: Vec<String>,
    /// Named values of a variable of another kind.
    pub names: Vec<(String, Formula)>,
    pub(crate) min: Option<Formula>,
    pub(crate) max: Option<Formula>,
}

impl Variable {
    /// Parses a user's value: a number in the variable's plain unit, a quantity, or a formula.
    /// Errors point into the value and name `flag`, such as `--workers`.
    pub(crate) fn setting(&self, source: &SourceText) -> Result<Formula, LoadError> {
        let text = source.text.trim();
        if let Some((_, named)) = self.names.iter().find(|(name, _)| name == text) {
            return Ok(Formula { span: 0..source.text.len(), ..named.clone() });
        }
        let as_number = match self.kind {
            ValueKind::Flag => Some(flag_number(text)),
            ValueKind::Word => Some(self.words.iter().position(|word| word == text).map(|place| place.to_string())),
            _ => None,
        };
        if let Some(number) = as_number {
            let Some(number) = number else { return Err(self.refuse_word(source, text)) };
            let formula = Formula::parse(source, &number, self.kind, 0..source.text.len())?;
            return Ok(Formula { text: text.to_owned(), ..formula });
        }
        let bare = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.');
        let unit = match (&self.plain, self.kind) {
            (Some(unit), _) => unit,
            (None, ValueKind::Size) => "b",
            (None, ValueKind::Duration) => "s",
            (None, _) => "",
        };
        let text = if bare { format!("{text}{unit}") } else { text.to_owned() };
        Formula::parse(source, &text, self.kind, 0..source.text.len())
    }

    fn refuse_word(&self, source: &SourceText, text: &str) -> LoadError {
        let known = if self.kind == ValueKind::Flag {
            vec!["true", "false"]
        } else {
            self.words.iter().map(String::as_str).collect()
        };
        let near = nearest(text, known.iter().copied()).map(|near| format!("did you mean '{near}'? "));
        let message =
            format!("'{}' cannot be '{text}'; {}known are {}", self.name, near.unwrap_or_default(), known.join(", "));
        source.diagnostic(0..source.text.len(), message).into()
    }
}

/// A flag's text as the number that formulas use.
fn flag_number(text: &str) -> Option<String> {
    match text {
        "true" | "yes" | "1" => Some("1".to_owned()),
        "false" | "no" | "0" => Some("0".to_owned()),
        _ => None,
    }
}
