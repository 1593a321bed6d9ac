//! Numbers as short as they can be without telling less.

use serde_json::Value;

/// Digits that are kept: more than any chart can show.
const DIGITS: i32 = 4;

/// A number of four significant digits; whole numbers have no fraction; none where it is not finite.
pub(crate) fn short(value: f64) -> Value {
    if !value.is_finite() {
        return Value::Null;
    }
    let magnitude = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    let scale = 10f64.powi(DIGITS - 1 - magnitude);
    let rounded = if magnitude >= DIGITS { value.round() } else { (value * scale).round() / scale };
    if rounded.fract() == 0.0 && rounded.abs() < 9e15 { Value::from(rounded as i64) } else { Value::from(rounded) }
}

/// Values of which some may be absent.
pub(crate) fn column(values: &[Option<f64>]) -> Value {
    values.iter().map(|value| value.map_or(Value::Null, short)).collect()
}

/// Ascending numbers as the first one and the differences: small and alike, so that they pack well.
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

/// Names, each once.
#[derive(Debug, Default)]
pub(crate) struct Names {
    all: Vec<String>,
    known: std::collections::HashMap<String, usize>,
}

impl Names {
    /// The place of a name.
    pub(crate) fn place(&mut self, name: &str) -> usize {
        if let Some(&place) = self.known.get(name) {
            return place;
        }
        self.all.push(name.to_owned());
        self.known.insert(name.to_owned(), self.all.len() - 1);
        self.all.len() - 1
    }

    /// All of them, by place.
    pub(crate) fn into_value(self) -> Value {
        self.all.into()
    }
}
