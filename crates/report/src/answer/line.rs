//! A line of an answer: words, and the values that it states. Words are fixed, so that no number gets into a line that
//! is not a value.

use model::cause::Cause;
use model::quantity::grouped;
use model::quantity::{Bytes, Nanoseconds};
use serde_json::{Value, json};

use crate::number::share;
use crate::style::printable;

/// Stands between a number and its unit, and within names, where no line may break.
pub(super) const UNBREAKABLE: char = '\u{a0}';

/// A value that a line states.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// How many.
    Count(u64),
    /// A time, ns.
    Duration(u64),
    /// A part, 0 to 1.
    Share(f64),
    /// A length.
    Bytes(u64),
    /// What a task waited for.
    Cause(Cause),
    /// A name from outside, or a text that holds such names.
    Name(String),
}

impl Fact {
    /// As it is written in a line.
    pub fn text(&self) -> String {
        match self {
            Fact::Count(count) => grouped(*count),
            Fact::Duration(ns) => Nanoseconds(*ns).to_string(),
            Fact::Share(part) => share(*part),
            Fact::Bytes(bytes) => Bytes(*bytes).to_string(),
            Fact::Cause(cause) => cause.words().to_owned(),
            Fact::Name(name) => printable(name),
        }
    }

    /// Its kind in JSON, and its value.
    fn value(&self) -> Value {
        let (kind, value) = match self {
            Fact::Count(count) => ("count", json!(count)),
            Fact::Duration(ns) => ("ns", json!(ns)),
            Fact::Share(part) => ("share", json!(part)),
            Fact::Bytes(bytes) => ("bytes", json!(bytes)),
            Fact::Cause(cause) => ("cause", json!(cause.name())),
            Fact::Name(name) => ("name", json!(name)),
        };
        json!({kind: value, "text": self.text()})
    }
}

/// A line under construction, or complete.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Line {
    /// With [`UNBREAKABLE`] where no line may break.
    text: String,
    facts: Vec<Fact>,
}

impl Line {
    /// An empty one.
    pub(super) fn new() -> Line {
        Line::default()
    }

    /// One that begins with these words.
    pub(super) fn of(words: &'static str) -> Line {
        Line::new().say(words)
    }

    /// Adds words, which hold no numbers.
    pub(super) fn say(mut self, words: &'static str) -> Line {
        debug_assert!(!words.contains(|c: char| c.is_ascii_digit()), "a number is a value: {words}");
        self.text.push_str(words);
        self
    }

    /// Adds a value.
    pub(super) fn fact(mut self, fact: Fact) -> Line {
        let text = fact.text();
        let is_number = matches!(fact, Fact::Duration(_) | Fact::Share(_) | Fact::Bytes(_));
        self.text.push_str(&if is_number { text.replace(' ', &UNBREAKABLE.to_string()) } else { text });
        self.facts.push(fact);
        self
    }

    /// Adds a time, ns.
    pub(super) fn time(self, ns: u64) -> Line {
        self.fact(Fact::Duration(ns))
    }

    /// Adds a part of a whole, 0 to 1.
    pub(super) fn share(self, part: f64) -> Line {
        self.fact(Fact::Share(part))
    }

    /// Adds a name from outside.
    pub(super) fn name(self, name: impl Into<String>) -> Line {
        self.fact(Fact::Name(name.into()))
    }

    /// Adds the words of a cause.
    pub(super) fn cause(self, cause: Cause) -> Line {
        self.fact(Fact::Cause(cause))
    }

    /// Adds a count with its noun in the singular or plural.
    pub(super) fn counted(mut self, count: u64, noun: &'static str) -> Line {
        self = self.fact(Fact::Count(count));
        self.text.push(UNBREAKABLE);
        self = self.say(noun);
        if count == 1 { self } else { self.say("s") }
    }

    /// Adds another line, unless that is `None`.
    pub(super) fn and(mut self, other: Option<Line>) -> Line {
        if let Some(other) = other {
            self.text.push_str(&other.text);
            self.facts.extend(other.facts);
        }
        self
    }

    /// With another first word.
    pub(super) fn beginning(mut self, before: &str, after: &'static str) -> Line {
        if let Some(rest) = self.text.strip_prefix(before) {
            self.text = format!("{after}{rest}");
        }
        self
    }

    /// Its text.
    pub fn text(&self) -> String {
        self.text.replace(UNBREAKABLE, " ")
    }

    /// The values that it states, in order.
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// Characters.
    pub(super) fn width(&self) -> usize {
        self.text.chars().count()
    }

    /// Its words as lines of at most so many columns.
    pub(super) fn wrapped(&self, columns: usize) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in self.text.split(' ') {
            let length = word.chars().count();
            match lines.last_mut() {
                Some(line) if line.chars().count() + 1 + length <= columns => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.extend(broken(word, columns)),
            }
        }
        lines.into_iter().map(|line| line.replace(UNBREAKABLE, " ")).collect()
    }

    /// `{"text": ..., "values": [{"ns": 12, "text": "12 ns"}]}`
    pub(super) fn json(&self) -> Value {
        json!({"text": self.text(), "values": self.facts.iter().map(Fact::value).collect::<Vec<_>>()})
    }
}

/// A word that is longer than a line, as several.
fn broken(word: &str, columns: usize) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    letters.chunks(columns.max(1)).map(|part| part.iter().collect()).collect()
}
