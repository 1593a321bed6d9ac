//! db_bench's lines, of LevelDB and RocksDB: `NAME : 4.123 micros/op 242539 ops/sec ...; 26.8 MB/s`. An invocation is a
//! run; it begins with the version, or where a benchmark comes again. Every value is read by the unit that follows it.

use super::error::{Runs, malformed};
use super::text::{finite, leading_number};
use crate::figures::{Better, Fact, Figure, RunFigures};

const TOOL: &str = "db_bench";
/// db_bench's MB.
const MB: f64 = 1_048_576.0;
const PERCENTILES: [(&str, &str); 4] = [("P50:", "p50"), ("P95:", "p95"), ("P99:", "p99"), ("P99.9:", "p999")];
const CONDITIONS: [(&str, &str); 6] = [
    ("RocksDB", "RocksDB version"),
    ("LevelDB", "LevelDB version"),
    ("Keys", "db_bench keys"),
    ("Values", "db_bench values"),
    ("Entries", "db_bench entries"),
    ("Compression", "db_bench compression"),
];

pub(super) fn runs(text: &str) -> Runs {
    if !text.lines().any(|line| benchmark(line).is_some()) {
        return None;
    }
    let mut runs = vec![RunFigures::default()];
    let mut histogram: Option<Histogram> = None;
    for line in text.lines().map(str::trim) {
        let last = runs.last_mut().expect("there is one from the start");
        let found = benchmark(line);
        let again = found.is_some_and(|(name, ..)| has(last, &format!("{name}.mean")));
        if again || (condition(line).is_some_and(|fact| fact.what.ends_with("version")) && !last.metrics.is_empty()) {
            let facts = if again { last.facts.clone() } else { Vec::new() };
            runs.push(RunFigures { facts, ..RunFigures::default() });
        }
        let run = runs.last_mut().expect("there is one from the start");
        if let Some((name, us, rest)) = found {
            add_benchmark(run, name, us, rest);
            histogram = Some(Histogram { name, lines: 0, median: None });
        } else if !line.is_empty() {
            histogram = histogram.and_then(|histogram| histogram.line(line, run));
            run.facts.extend(condition(line));
        }
    }
    runs.retain(|run| !run.metrics.is_empty());
    for run in &mut runs {
        run.facts.insert(0, Fact::new("workload", "db_bench"));
    }
    Some(if runs.is_empty() { Err(malformed(TOOL, "its benchmarks have no figure")) } else { Ok(runs) })
}

/// What begins the lines between a benchmark's own line and its percentiles. Only where all of them are there, the
/// percentiles are its own.
const BETWEEN: [&str; 3] = ["Microseconds per", "Count:", "Min:"];

/// The lines after that of a benchmark.
struct Histogram<'a> {
    name: &'a str,
    /// Lines of [`BETWEEN`] so far.
    lines: usize,
    median: Option<f64>,
}

impl Histogram<'_> {
    /// `None` once a line is not of it.
    fn line(mut self, line: &str, run: &mut RunFigures) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        if self.lines == BETWEEN.len() {
            let is_of_it = after(&words, "P50:").zip(self.median).is_some_and(|(p50, median)| is_rounded(p50, median));
            if is_of_it && line.starts_with("Percentiles:") {
                add_percentiles(run, self.name, &words);
            }
            return None;
        }
        if !line.starts_with(BETWEEN[self.lines]) {
            return None;
        }
        self.lines += 1;
        self.median = after(&words, "Median:");
        Some(self)
    }
}

fn has(run: &RunFigures, name: &str) -> bool {
    run.metrics.iter().any(|metric| metric.name == name)
}

/// The name, the mean in us, and what follows `micros/op`.
fn benchmark(line: &str) -> Option<(&str, f64, &str)> {
    let (name, rest) = line.trim().split_once(" : ").or_else(|| line.trim().split_once(": "))?;
    let name = name.trim();
    let (us, rest) = leading_number(rest)?;
    let rest = rest.trim_start().strip_prefix("micros/op")?;
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-[]".contains(c));
    is_name(name).then_some((name, us, rest))
}

fn add_benchmark(run: &mut RunFigures, name: &str, us: f64, rest: &str) {
    let mut add = |figure: &str, unit: &str, better, value: f64| {
        run.metrics.push(Figure::level(format!("{name}.{figure}"), unit, better, value));
    };
    add("mean", "ns", Better::Lower, us * 1e3);
    let words: Vec<&str> = rest.split([' ', ';', '(', ')']).filter(|word| !word.is_empty()).collect();
    let before = |unit: &str| words.windows(2).find(|pair| pair[1] == unit).and_then(|pair| finite(pair[0]));
    if let Some(per_s) = before("ops/sec") {
        add("per_s", "/s", Better::Higher, per_s);
    } else if us > 0.0 {
        // LevelDB prints no rate of operations; with one thread it is the inverse.
        add("per_s", "/s", Better::Higher, 1e6 / us);
    }
    if let Some(mb) = before("MB/s") {
        add("bytes_per_s", "bytes/s", Better::Higher, mb * MB);
    }
}

/// `P50: 2.1 P75: 3.0 P99: 9.8 P99.9: 21.0 P99.99: 80.1`, us.
fn add_percentiles(run: &mut RunFigures, name: &str, words: &[&str]) {
    for (label, percentile) in PERCENTILES {
        let name = format!("{name}.{percentile}");
        run.metrics.extend(after(words, label).map(|us| Figure::level(name, "ns", Better::Lower, us * 1e3)));
    }
}

fn after(words: &[&str], label: &str) -> Option<f64> {
    words.windows(2).find(|pair| pair[0] == label).and_then(|pair| finite(pair[1]))
}

/// The median has four decimals, the percentiles have two.
fn is_rounded(p50: f64, median: f64) -> bool {
    (p50 - median).abs() <= 0.006
}

fn condition(line: &str) -> Option<Fact> {
    let (what, value) = line.split_once(':')?;
    let (_, name) = CONDITIONS.iter().find(|(known, _)| *known == what.trim())?;
    Some(Fact::new(name, value.trim()))
}
