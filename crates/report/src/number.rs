//! Numbers for people.

use model::quantity::Nanoseconds;
pub use model::quantity::{counted, grouped};

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
    use super::{rate, share};

    #[test]
    fn shares_and_rates() {
        assert_eq!([share(0.0), share(0.0004), share(0.05), share(0.61)], ["0 %", "< 0.1 %", "5.0 %", "61 %"]);
        assert_eq!([rate(8.768), rate(44.98), rate(1234.5)], ["8.77", "45.0", "1,235"]);
    }
}
