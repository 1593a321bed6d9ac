//! filebench's `IO Summary` and its table of flowops, of 1.4 and 1.5. A summary is a run; the flowops above it are its
//! parts. Every value is read by the unit attached to it.

use super::error::{Runs, malformed};
use super::text::leading_number;
use crate::figures::{Better, Fact, Figure, RunFigures};

const TOOL: &str = "filebench";
const MIB: f64 = 1_048_576.0;
/// Units of a flowop's and the summary's values, the figure, and its factor.
const UNITS: [(&str, &str, &str, f64, Better); 5] = [
    ("ops/s", "per_s", "/s", 1.0, Better::Higher),
    ("mb/s", "bytes_per_s", "bytes/s", MIB, Better::Higher),
    ("ms/op", "mean", "ns", 1e6, Better::Lower),
    ("us/op", "mean", "ns", 1e3, Better::Lower),
    ("ms latency", "mean", "ns", 1e6, Better::Lower),
];

pub(super) fn runs(text: &str) -> Runs {
    if !text.lines().any(|line| summary(line).is_some()) {
        return None;
    }
    let mut runs = Vec::new();
    let mut flowops: Vec<Figure> = Vec::new();
    let mut facts: Vec<Fact> = Vec::new();
    for line in text.lines() {
        if let Some(rest) = summary(line) {
            let mut metrics = figures("", rest);
            metrics.append(&mut flowops);
            if !metrics.is_empty() {
                let facts = [Fact::new("workload", "filebench")].into_iter().chain(facts.drain(..)).collect();
                runs.push(RunFigures { metrics, facts, ..RunFigures::default() });
            }
        } else if line.contains("Per-Operation Breakdown") {
            flowops.clear();
        } else if let Some((_, version)) = line.split_once("Filebench Version ") {
            facts.push(Fact::new("filebench version", version.trim()));
        } else if let Some(name) = flowop(line) {
            flowops.extend(figures(&format!("{name}."), line));
        }
    }
    Some(if runs.is_empty() { Err(malformed(TOOL, "its summary has no figure")) } else { Ok(runs) })
}

/// What follows `IO Summary:`
fn summary(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("IO Summary:")?;
    rest.contains("ops/s").then_some(rest)
}

/// The name of a flowop: the first word of a line `readfile1   21370ops   356ops/s ...`.
fn flowop(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let name = words.next()?;
    let is_count = |word: &str| word.strip_suffix("ops").is_some_and(|count| leading_number(count).is_some());
    (is_count(words.next()?) && words.any(|word| word.ends_with("ops/s"))).then_some(name)
}

/// Values with their units: attached (`356ops/s`) or after a space (`2057.3 ops/s`). The range in brackets is skipped.
fn figures(prefix: &str, line: &str) -> Vec<Figure> {
    let line = line.split('[').next().unwrap_or_default().replace("ms latency", "ms/op");
    let words: Vec<&str> = line.split([' ', '\t', ',']).filter(|word| !word.is_empty()).collect();
    let mut found: Vec<Figure> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let Some((value, attached)) = leading_number(word) else { continue };
        let unit = if attached.is_empty() { words.get(at + 1).copied().unwrap_or_default() } else { attached };
        let Some((_, name, unit, factor, better)) = UNITS.iter().find(|(known, ..)| *known == unit) else { continue };
        // `us cpu/op` is not a latency: its unit is another word.
        let name = format!("{prefix}{name}");
        if !found.iter().any(|figure| figure.name == name) {
            found.push(Figure::level(name, unit, *better, value * factor));
        }
    }
    found
}
