//! One row per metric, for spreadsheets and scripts (RFC 4180).

use std::borrow::Cow;
use std::fmt::Write as _;

use compare::{Compared, Comparison};
use model::csv::cell;

/// All metrics, stalls and counters. An unknown value is empty.
pub fn csv(found: &[Comparison]) -> String {
    let mut text =
        "a,b,kind,metric,unit,a_runs,b_runs,a_value,b_value,ratio,low95,high95,p,q,verdict,need_runs\r\n".to_owned();
    for one in found {
        let mut add = |kind: &str, metric: &Compared| row(&mut text, one, kind, metric);
        one.metrics.iter().for_each(|metric| add("metric", metric));
        for stall in &one.stalls {
            stall.count.iter().chain([&stall.time]).for_each(|metric| add("stalls", metric));
        }
        one.counters.iter().for_each(|counter| add("counter", counter));
    }
    text
}

fn row(text: &mut String, one: &Comparison, kind: &str, metric: &Compared) {
    let number = |value: f64| if value.is_finite() { value.to_string() } else { String::new() };
    let (low, high) = metric.ratio.interval.map_or((f64::NAN, f64::NAN), |ends| ends);
    let _ = write!(
        text,
        "{},{},{kind},{},{},{},{},{},{},{},{},{},{},{},{},{}\r\n",
        field(&one.a.0),
        field(&one.b.0),
        field(&metric.name),
        field(&metric.unit),
        metric.a.len(),
        metric.b.len(),
        number(metric.typical_a()),
        number(metric.typical_b()),
        number(metric.ratio.ratio),
        number(low),
        number(high),
        metric.p,
        metric.q,
        metric.verdict.name(),
        metric.need_runs.map_or_else(String::new, |runs| runs.to_string()),
    );
}

/// A missing unit is an empty cell.
fn field(text: &str) -> Cow<'_, str> {
    if text.is_empty() { text.into() } else { cell(text) }
}
