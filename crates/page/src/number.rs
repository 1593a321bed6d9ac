//! Numbers in as few digits as the page needs, and names by number.

use std::collections::HashMap;

use serde_json::Value;

/// Significant digits: more than any chart can show.
const DIGITS: i32 = 4;

/// A number with four significant digits, whole numbers without a fraction; null if it is not finite.
pub(crate) fn short(value: f64) -> Value {
    if !value.is_finite() {
        return Value::Null;
    }
    let magnitude = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    let scale = 10f64.powi(DIGITS - 1 - magnitude);
    let rounded = if magnitude >= DIGITS { value.round() } else { (value * scale).round() / scale };
    if rounded.fract() == 0.0 && rounded.abs() < 9e15 { Value::from(rounded as i64) } else { Value::from(rounded) }
}

/// A column of values, some of them absent.
pub(crate) fn column(values: &[Option<f64>]) -> Value {
    values.iter().map(|value| value.map_or(Value::Null, short)).collect()
}

/// Ascending numbers as the first one and the differences, which are small and compress well.
pub(crate) fn deltas(values: impl Iterator<Item = u64>) -> Value {
    let mut last = 0i64;
    let mut delta = |value: u64| {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        let delta = value - last;
        last = value;
        delta
    };
    values.map(|value| Value::from(delta(value))).collect()
}

/// The index of a name among all names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NameIndex(pub(crate) usize);

/// Names, each once.
#[derive(Debug, Default)]
pub(crate) struct NameTable {
    all: Vec<String>,
    known: HashMap<String, NameIndex>,
}

impl NameTable {
    /// The index of a name, which is added if it is new.
    pub(crate) fn index_of(&mut self, name: &str) -> NameIndex {
        if let Some(&index) = self.known.get(name) {
            return index;
        }
        let index = NameIndex(self.all.len());
        self.all.push(name.to_owned());
        self.known.insert(name.to_owned(), index);
        index
    }

    /// All of them, by index.
    pub(crate) fn into_value(self) -> Value {
        self.all.into()
    }
}
