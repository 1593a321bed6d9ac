//! Numbers for people.

use model::quantity::Nanoseconds;

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
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// A latency, or a dash if it is unknown.
pub fn latency(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".to_owned(), |ns| Nanoseconds(ns).to_string())
}

/// A share of 0 to 1 as a percentage, two significant digits.
pub fn share(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".to_owned(),
        percent if percent < 0.1 => "< 0.1 %".to_owned(),
        percent if percent < 10.0 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

/// A rate with about three significant digits.
pub fn rate(per_s: f64) -> String {
    match per_s {
        v if v >= 1000.0 => grouped(v.round() as u64),
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{grouped, rate, share};

    #[test]
    fn groups_of_three() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (36896768, "36,896,768")] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn shares_and_rates() {
        assert_eq!([share(0.0), share(0.0004), share(0.05), share(0.61)], ["0 %", "< 0.1 %", "5.0 %", "61 %"]);
        assert_eq!([rate(8.768), rate(44.98), rate(1234.5)], ["8.77", "45.0", "1,235"]);
    }
}
