//! A sentence whose numbers and names are values of a document.

use model::cause::Cause;
use model::quantity::Nanoseconds;
use serde_json::Value;

use crate::number::{counted, grouped, share};
use crate::style::printable;

/// A sentence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sentence {
    /// Its text, with the period.
    pub text: String,
    /// What it says of the document, in order.
    pub facts: Vec<Fact>,
}

/// A value as written, and where it is in the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// As written.
    pub text: String,
    /// JSON pointer.
    pub path: String,
    kind: Kind,
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A count.
    Count,
    /// A number that is a name, such as a process's.
    Number,
    /// A time in ns.
    Duration,
    /// A share of 0 to 1.
    Share,
    /// A cause.
    Cause,
    /// A name from outside.
    Name,
}

/// Least share of a time that is named beside others.
pub(super) const LEAST: f64 = 0.05;
/// Stands between a number and its unit.
pub(super) const UNBREAKABLE: char = '\u{a0}';

impl Sentence {
    /// Continues with what another one says.
    pub(super) fn join(&mut self, other: Sentence) {
        self.text.truncate(self.text.len() - 1);
        self.text.push_str("; ");
        let mut rest = other.text.chars();
        self.text.extend(rest.next().map(|first| first.to_ascii_lowercase()));
        self.text.push_str(rest.as_str());
        self.facts.extend(other.facts);
    }

    /// Its text, in which no line breaks between a number and its unit.
    pub(super) fn with_units(&self) -> String {
        let mut text = self.text.clone();
        for fact in self.facts.iter().filter(|fact| matches!(fact.kind, Kind::Duration | Kind::Share)) {
            text = text.replace(&fact.text, &fact.text.replace(' ', &UNBREAKABLE.to_string()));
        }
        text
    }
}

/// The value as written; `None` if it is of another type.
pub(super) fn written(value: &Value, kind: Kind) -> Option<String> {
    match kind {
        Kind::Count => value.as_u64().map(grouped),
        Kind::Number => value.as_u64().map(|number| number.to_string()),
        Kind::Duration => value.as_u64().map(|ns| Nanoseconds(ns).to_string()),
        Kind::Share => value.as_f64().map(share),
        Kind::Cause => Cause::from_name(value.as_str()?).map(|cause| cause.words().to_owned()),
        Kind::Name => value.as_str().map(printable),
    }
}

impl Fact {
    /// The value once more from the document.
    #[cfg(test)]
    pub(super) fn of(&self, document: &Value) -> Option<String> {
        written(document.pointer(&self.path)?, self.kind)
    }
}

/// Writes a sentence.
pub(super) struct Writer<'a> {
    document: &'a Value,
    sentence: Sentence,
}

impl<'a> Writer<'a> {
    pub(super) fn new(document: &'a Value) -> Writer<'a> {
        Writer { document, sentence: Sentence::default() }
    }

    /// Words without numbers.
    pub(super) fn say(&mut self, words: &str) {
        self.sentence.text.push_str(words);
    }

    /// A value of the document; `None` where it has none.
    pub(super) fn value(&mut self, path: &str, kind: Kind) -> Option<()> {
        let text = written(self.document.pointer(path)?, kind)?;
        self.say(&text);
        self.sentence.facts.push(Fact { text, path: path.to_owned(), kind });
        Some(())
    }

    /// A count with its noun in the singular or plural.
    pub(super) fn counted(&mut self, path: &str, noun: &str) -> Option<()> {
        let count = self.document.pointer(path)?.as_u64()?;
        self.value(path, Kind::Count)?;
        let words = counted(count, noun);
        self.say(words.trim_start_matches(|c: char| c.is_ascii_digit() || c == ','));
        Some(())
    }

    /// The sentence with its period.
    pub(super) fn end(mut self) -> Sentence {
        self.sentence.text.push('.');
        self.sentence
    }
}
