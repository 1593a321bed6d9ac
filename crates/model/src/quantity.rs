//! Sizes and durations in the user's notation.

use std::fmt;

/// A size or duration that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// Not a number with a known unit.
    #[error("'{text}' is not a {what}; write {example}")]
    Malformed {
        /// What was read.
        text: String,
        /// `size` or `duration`.
        what: &'static str,
        /// The expected notation.
        example: &'static str,
    },
    /// Larger than can be represented.
    #[error("'{text}' is too large")]
    TooLarge {
        /// What was read.
        text: String,
    },
}

const SIZE_EXAMPLE: &str = "a whole number with k, m, g or t (binary) or nothing for bytes, such as 512m";
const DURATION_EXAMPLE: &str = "a number with ns, us, ms, s, m or h, such as 250ms";

/// Multiplier of a size suffix: `k`, `KiB`, `m`, ... All are binary; the empty suffix is bytes.
pub fn size_unit(suffix: &str) -> Option<u64> {
    let lower = suffix.to_ascii_lowercase();
    let letter = lower.strip_suffix("ib").or_else(|| lower.strip_suffix('b')).unwrap_or(&lower);
    Some(match letter {
        "" if lower != "ib" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        "t" => 1 << 40,
        _ => return None,
    })
}

/// Nanoseconds in a duration's unit.
pub fn duration_unit(suffix: &str) -> Option<u64> {
    Some(match suffix {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

fn split_number(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

/// Reads a size in bytes: `4096`, `64k`, `1.5g`, `512MiB`. Units are binary.
pub fn parse_size(text: &str) -> Result<u64, QuantityError> {
    let malformed = || QuantityError::Malformed { text: text.to_owned(), what: "size", example: SIZE_EXAMPLE };
    let (number, suffix) = split_number(text.trim());
    let unit = size_unit(suffix).ok_or_else(malformed)?;
    scale(text, number, unit).ok_or_else(malformed)?
}

/// Reads a duration in nanoseconds: `250ms`, `1.5s`, `2m`. A bare number is seconds, as in comparable tools.
pub fn parse_duration(text: &str) -> Result<u64, QuantityError> {
    let malformed = || QuantityError::Malformed { text: text.to_owned(), what: "duration", example: DURATION_EXAMPLE };
    let (number, suffix) = split_number(text.trim());
    let unit = if suffix.is_empty() { 1_000_000_000 } else { duration_unit(suffix).ok_or_else(malformed)? };
    scale(text, number, unit).ok_or_else(malformed)?
}

/// `None`: not a number. Whole numbers are scaled exactly, fractions through `f64`.
fn scale(text: &str, number: &str, unit: u64) -> Option<Result<u64, QuantityError>> {
    let too_large = || QuantityError::TooLarge { text: text.to_owned() };
    if let Ok(whole) = number.parse::<u64>() {
        return Some(whole.checked_mul(unit).ok_or_else(too_large));
    }
    let value = number.parse::<f64>().ok()? * unit as f64;
    Some(if value.is_finite() && value < u64::MAX as f64 { Ok(value.round() as u64) } else { Err(too_large()) })
}

/// Shows bytes with a binary unit and up to three significant digits: `1.50 GiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        if self.0 < 1024 {
            return f.pad(&format!("{} B", self.0));
        }
        let mut value = self.0 as f64 / 1024.0;
        let mut unit = 0;
        while value >= 999.5 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        f.pad(&format!("{} {}", three_digits(value), UNITS[unit]))
    }
}

/// Shows nanoseconds with a fitting unit and up to three significant digits: `36.9 s`, `412 us`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nanoseconds(pub u64);

impl fmt::Display for Nanoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0 as f64;
        let text = match self.0 {
            0..1_000 => format!("{} ns", self.0),
            1_000..999_500 => format!("{} us", three_digits(ns / 1e3)),
            999_500..999_500_000 => format!("{} ms", three_digits(ns / 1e6)),
            999_500_000..600_000_000_000 => format!("{} s", three_digits(ns / 1e9)),
            600_000_000_000..36_000_000_000_000 => format!("{} min", three_digits(ns / 60e9)),
            _ => format!("{} h", three_digits(ns / 3600e9)),
        };
        f.pad(&text)
    }
}

fn three_digits(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// Digits in groups of three: `21,594,112`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A count with its noun: `1 read operation`, `2,300 read operations`.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{} {}", grouped(count), plural(count, noun))
}

/// The noun of a count: `process`, `processes`.
pub fn plural(count: u64, noun: &str) -> String {
    match count {
        1 => noun.to_owned(),
        _ if noun.ends_with('s') => format!("{noun}es"),
        _ if noun.ends_with("ry") => format!("{}ies", noun.trim_end_matches('y')),
        _ => format!("{noun}s"),
    }
}

/// The verb of a count: `is`, `are`.
pub fn verb<'a>(count: u64, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Bytes, Nanoseconds, counted, grouped, parse_duration, parse_size};

    #[test]
    fn sizes() {
        for (text, bytes) in
            [("0", 0), ("4096", 4096), ("64k", 65536), ("1.5g", 3 << 29), ("512MiB", 512 << 20), ("2 KB", 2048)]
        {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "k", "-1", "12q", "1e3", "0x10", "ib", "99999999999t", "1.2.3"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations() {
        for (text, ns) in
            [("10", 10_000_000_000), ("250ms", 250_000_000), ("1.5s", 1_500_000_000), ("2m", 120_000_000_000)]
        {
            assert_eq!(parse_duration(text), Ok(ns), "{text}");
        }
        for text in ["", "s", "-1s", "1 fortnight", "99999999999h"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shown_with_three_digits() {
        for (bytes, text) in
            [(0, "0 B"), (1023, "1023 B"), (1024, "1.00 KiB"), (1 << 30, "1.00 GiB"), (1023 << 20, "1.00 GiB")]
        {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_234, "1.23 us"),
            (999_499, "999 us"),
            (999_500, "1.00 ms"),
            (36_896_768_000, "36.9 s"),
            (3_600_000_000_000, "60.0 min"),
        ] {
            assert_eq!(Nanoseconds(ns).to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_without_panic(text in ".{0,24}") {
            let _ = parse_size(&text);
            let _ = parse_duration(&text);
        }
    }

    #[test]
    fn groups_of_three() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (36896768, "36,896,768")] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn nouns_follow_their_count() {
        for (count, noun, text) in [
            (0, "row", "0 rows"),
            (1, "row", "1 row"),
            (2300, "read operation", "2,300 read operations"),
            (1, "process", "1 process"),
            (2, "process", "2 processes"),
            (2, "directory", "2 directories"),
        ] {
            assert_eq!(counted(count, noun), text);
        }
    }
}
