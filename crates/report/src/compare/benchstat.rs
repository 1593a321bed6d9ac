//! The runs' values in Go's benchmark format, which benchstat and its like read. One line is one run; the side is the
//! key `side`:
//!
//! ```text
//! stallscope compare --a A... --b B... --format benchstat > runs.txt; benchstat -col /side runs.txt
//! ```

use std::collections::BTreeMap;
use std::fmt::Write as _;

use compare::{Better, Compared, Comparison};

/// All metrics: a benchmark each, because a class's percentiles and rates differ in their units.
pub fn benchstat(found: &[Comparison]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut better: BTreeMap<String, &str> = BTreeMap::new();
    let mut told: Vec<(String, String)> = Vec::new();
    let names = found.iter().flat_map(|one| [&one.a.0, &one.b.0]);
    let threads = if names.into_iter().any(|name| ends_as_threads(name)) { "-1" } else { "" };
    for one in found {
        for metric in &one.metrics {
            let unit = unit(metric);
            if metric.better == Better::Higher {
                better.insert(unit.clone(), "higher");
            }
            for (side, runs) in [(&one.a.0, &metric.a), (&one.b.0, &metric.b)] {
                // The baseline is in every comparison, and is told once.
                let key = (side.clone(), metric.name.clone());
                if told.contains(&key) {
                    continue;
                }
                told.push(key);
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

/// A number after a last hyphen is the number of threads to Go's tools, and no part of a name; whoever has one gets another
/// behind it.
fn ends_as_threads(name: &str) -> bool {
    let digits = name.rsplit_once('-').map_or("", |(_, digits)| digits);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The unit as benchstat knows it: nanoseconds and bytes it scales by itself.
fn unit(metric: &Compared) -> String {
    match metric.unit.as_str() {
        "ns" => "ns/op".to_owned(),
        "bytes/s" => "B/s".to_owned(),
        // A unit has one way of being good.
        "/s" if metric.better == Better::Lower => "events/s".to_owned(),
        "/s" => "ops/s".to_owned(),
        unit => word(unit),
    }
}

/// Without blanks and slashes, which end a name.
fn word(text: &str) -> String {
    text.chars().map(|c| if c.is_whitespace() || c == '/' || c.is_control() { '_' } else { c }).collect()
}

/// A benchmark's first letter must not be a small one.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
