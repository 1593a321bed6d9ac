//! The runs' values in Go's benchmark format, which benchstat reads. A line is a run; the key `side` names the side:
//!
//! ```text
//! stallscope compare --a A... --b B... --format benchstat > runs.txt; benchstat -col /side runs.txt
//! ```

use std::collections::BTreeMap;
use std::fmt::Write as _;

use compare::{Better, Compared, Comparison};

/// All metrics, a benchmark for each, because percentiles and rates differ in units.
pub fn benchstat(found: &[Comparison]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut better: BTreeMap<String, &str> = BTreeMap::new();
    let mut written: Vec<(String, String)> = Vec::new();
    let names = found.iter().flat_map(|comparison| [&comparison.a.0, &comparison.b.0]);
    let threads = if names.into_iter().any(|name| ends_as_threads(name)) { "-1" } else { "" };
    for comparison in found {
        for metric in &comparison.metrics {
            let unit = unit(metric);
            if metric.better == Better::Higher {
                better.insert(unit.clone(), "higher");
            }
            for (side, runs) in [(&comparison.a.0, &metric.a), (&comparison.b.0, &metric.b)] {
                // The baseline is in every comparison, and is written once.
                let key = (side.clone(), metric.name.clone());
                if written.contains(&key) {
                    continue;
                }
                written.push(key);
                for run in runs {
                    lines.push(format!(
                        "Benchmark{}/side={}{threads} 1 {} {unit}",
                        capital(&word(&metric.name)),
                        word(side),
                        run
                    ));
                }
            }
        }
    }
    let mut text = String::new();
    for (unit, better) in better {
        let _ = writeln!(text, "Unit {unit} better={better}");
    }
    lines.iter().for_each(|line| {
        let _ = writeln!(text, "{line}");
    });
    text
}

/// Go's tools read a number after the last hyphen as the number of threads. A name that ends in one gets another behind
/// it.
fn ends_as_threads(name: &str) -> bool {
    let digits = name.rsplit_once('-').map_or("", |(_, digits)| digits);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The unit for benchstat, which scales nanoseconds and bytes.
fn unit(metric: &Compared) -> String {
    match metric.unit.as_str() {
        "ns" => "ns/op".to_owned(),
        "bytes/s" => "B/s".to_owned(),
        // A unit has one better direction.
        "/s" if metric.better == Better::Lower => "events/s".to_owned(),
        "/s" => "ops/s".to_owned(),
        unit => word(unit),
    }
}

/// Blanks and slashes, which end a name, become underscores.
fn word(text: &str) -> String {
    text.chars().map(|c| if c.is_whitespace() || c == '/' || c.is_control() { '_' } else { c }).collect()
}

/// A benchmark's name must start with a capital letter.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
