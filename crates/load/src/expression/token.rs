//! The tokens of a formula.

use std::ops::Range;

use model::quantity::{duration_unit, size_unit};

use super::mistake::Mistake;
use crate::value::{DimensionedValue, ValueKind};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Number(DimensionedValue),
    Name(String),
    Symbol(char),
}

/// Every token with its byte range.
pub(super) fn tokenize(text: &str, kind: ValueKind) -> Result<Vec<(Token, Range<usize>)>, Mistake> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let start = text.len() - rest.len();
        let (token, length) = match first {
            c if c.is_whitespace() => {
                rest = &rest[c.len_utf8()..];
                continue;
            }
            '0'..='9' | '.' => number(rest, kind).map_err(|(length, m)| Mistake::new(start..start + length, m))?,
            c if c.is_alphabetic() || c == '_' => {
                let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                (Token::Name(rest[..length].to_owned()), length)
            }
            '+' | '-' | '*' | '/' | '(' | ')' | ',' => (Token::Symbol(first), 1),
            other => {
                return Err(Mistake::new(
                    start..start + other.len_utf8(),
                    format!("'{other}' is not allowed in a formula"),
                ));
            }
        };
        tokens.push((token, start..start + length));
        rest = &rest[length..];
    }
    Ok(tokens)
}

/// A number and its unit at the start of `text`, with their length; or the length and what is wrong with it.
fn number(text: &str, kind: ValueKind) -> Result<(Token, usize), (usize, String)> {
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let unit_length = text[digits..].find(|c: char| !(c.is_alphabetic() || c == '%')).unwrap_or(text.len() - digits);
    let (written, unit) = (&text[..digits], &text[digits..digits + unit_length]);
    let length = digits + unit_length;
    let amount: f64 = written.replace('_', "").parse().map_err(|_| (length, format!("'{written}' is not a number")))?;
    let value = match unit {
        "" => DimensionedValue::plain(amount),
        "%" => DimensionedValue::plain(amount / 100.0),
        unit if kind == ValueKind::Duration && duration_unit(unit).is_some() => time(amount, unit),
        unit => match size_unit(unit) {
            Some(bytes) => DimensionedValue::bytes(amount * bytes as f64),
            None if duration_unit(unit).is_some() => time(amount, unit),
            None => {
                return Err((
                    length,
                    format!("unknown unit '{unit}'; sizes take k, m, g, t, durations ns, us, ms, s, min, h"),
                ));
            }
        },
    };
    Ok((Token::Number(value), length))
}

fn time(amount: f64, unit: &str) -> DimensionedValue {
    DimensionedValue::nanoseconds(amount * duration_unit(unit).unwrap_or(1) as f64)
}
