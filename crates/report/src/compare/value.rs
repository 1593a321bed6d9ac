//! Values, changes and intervals of a comparison for people.

use compare::Compared;
use model::quantity::counted;
use model::quantity::{Bytes, Nanoseconds};
use statistics::Ratio;

/// A value with its unit.
pub(crate) fn value(value: f64, unit: &str) -> String {
    match unit {
        "ns" => Nanoseconds(value.round() as u64).to_string(),
        "ns/s" => format!("{}/s", Nanoseconds(value.round() as u64)),
        "bytes/s" => format!("{}/s", Bytes(value.round() as u64)),
        "bytes" => Bytes(value.round() as u64).to_string(),
        "share" => crate::number::share(value),
        "s" => format!("{} s", digits(value)),
        _ => format!("{}{}", digits(value), if unit.starts_with('/') { unit.to_owned() } else { String::new() }),
    }
}

/// About three significant digits.
pub(super) fn digits(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        v if v.abs() < 0.01 => format!("{v:.1e}"),
        _ => crate::number::rate(value),
    }
}

/// A ratio as a change: `+27.2 %`, or `x 4.1` from a factor of 3 on.
pub(crate) fn change(ratio: f64) -> String {
    match ratio {
        ratio if ratio.is_infinite() => "from 0".to_owned(),
        ratio if ratio >= 3.0 => format!("x {}", digits(ratio)),
        ratio => format!("{:+.1} %", (ratio - 1.0) * 100.0),
    }
}

/// An interval of ratios as changes.
pub(crate) fn interval(ratio: &Ratio) -> String {
    match ratio.interval {
        None => "-".to_owned(),
        Some((low, _)) if low.is_infinite() => "from 0".to_owned(),
        Some((low, high)) if high >= 3.0 => format!("x {} to {}", bound(low), bound(high)),
        Some((low, high)) => format!("{:+.1} to {:+.1} %", (low - 1.0) * 100.0, (high - 1.0) * 100.0),
    }
}

fn bound(value: f64) -> String {
    if value.is_infinite() { "any".to_owned() } else { digits(value) }
}

/// `p` or `q` with two significant digits.
pub(crate) fn probability(p: f64) -> String {
    match p {
        p if p < 0.0001 => "<0.0001".to_owned(),
        p if p < 0.01 => format!("{p:.4}"),
        p => format!("{p:.2}"),
    }
}

/// Beyond this nobody repeats a run.
const MOST_RUNS: u64 = 1_000;

/// The verdict, or the runs it needs.
pub(super) fn verdict(metric: &Compared) -> String {
    match metric.need_runs {
        Some(runs) => {
            let practical = if runs > MOST_RUNS { ", which is not practical" } else { "" };
            format!("not enough data: {} a side{practical}", counted(runs, "more run"))
        }
        None => super::words(metric.verdict).to_owned(),
    }
}
