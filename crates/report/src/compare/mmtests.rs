//! A form close to mmtests' comparison report: a column per configuration, the change against the first in brackets
//! (positive is better), and a star if the verdict is better or worse.

use std::fmt::Write as _;

use compare::{Better, Compared, Comparison};

use super::names::headings;

const NAME: usize = 28;
const VALUE: usize = 14;
const COLUMN: usize = VALUE + 12;

/// All metrics.
pub fn mmtests(found: &[Comparison]) -> String {
    let mut text = String::new();
    let Some(first) = found.first() else { return text };
    let names: Vec<&str> =
        std::iter::once(&first.a.0).chain(found.iter().map(|one| &one.b.0)).map(String::as_str).collect();
    let _ = write!(text, "{:NAME$}", "");
    headings(&names).iter().for_each(|name| {
        let _ = write!(text, " {name:>0$}", COLUMN - 1);
    });
    text.push('\n');
    // Sorted by name: the order differs between comparisons.
    let mut metrics: Vec<&Compared> = first.metrics.iter().collect();
    metrics.sort_by(|x, y| x.name.cmp(&y.name));
    for metric in metrics {
        let direction = match metric.better {
            Better::Higher => "Hmean",
            _ => "Amean",
        };
        let _ = write!(text, "{:NAME$}", format!("{direction:<6}  {}", crate::style::printable(&metric.name)));
        let factor = if metric.unit == "ns" { 1e-3 } else { 1.0 };
        let _ = write!(text, "{:>VALUE$.2} ({:>7.2}%) ", mean(metric, &metric.a) * factor, 0.0);
        for one in found {
            let Some(other) = one.metrics.iter().find(|other| other.name == metric.name) else {
                let _ = write!(text, "{:>COLUMN$}", "-");
                continue;
            };
            let (a, b) = (mean(other, &other.a), mean(other, &other.b));
            let star = if other.verdict.is_decided() { "*" } else { " " };
            let _ = write!(text, "{:>VALUE$.2} ({:>7.2}%){star}", b * factor, gain(other.better, a, b));
        }
        while text.ends_with(' ') {
            text.pop();
        }
        text.push('\n');
    }
    text.push_str("\nLatencies in microseconds. Changes are of means; a star: verdict better or worse.\n");
    text
}

/// Harmonic for rates, arithmetic for the rest, as in mmtests.
fn mean(metric: &Compared, values: &[f64]) -> f64 {
    let count = values.len() as f64;
    match metric.better {
        Better::Higher => count / values.iter().map(|value| 1.0 / value).sum::<f64>(),
        _ => values.iter().sum::<f64>() / count,
    }
}

fn gain(better: Better, a: f64, b: f64) -> f64 {
    if a == 0.0 {
        return 0.0;
    }
    let change = (b - a) / a * 100.0;
    // Not -0.00.
    (if better == Better::Higher { change } else { -change }) + 0.0
}
