//! sysbench's `fileio` report: of 0.4 and 0.5 (`Requests/sec executed`), of 1.0 (`reads/s:`) and of 1.1 (`read:
//! IOPS=`). Every value has a label, which alone says what it is. A report is a run.

use super::error::{Runs, malformed};
use super::text::leading_number;
use crate::figures::{Better, Fact, Figure, RunFigures};

const TOOL: &str = "sysbench";
const MIB: f64 = 1_048_576.0;
/// Labels of rates, their metrics, and the factor to bytes of those in MiB.
const RATES: [(&str, &str, Option<f64>); 5] = [
    ("reads/s", "read.per_s", None),
    ("writes/s", "write.per_s", None),
    ("fsyncs/s", "fsync.per_s", None),
    ("read, MiB/s", "read.bytes_per_s", Some(MIB)),
    ("written, MiB/s", "write.bytes_per_s", Some(MIB)),
];
/// Labels of latencies (ms) and their figures; 0.4 writes `approx.  95 percentile`.
const LATENCIES: [(&str, &str); 4] = [
    ("avg", "latency.mean"),
    ("max", "latency.max"),
    ("95th percentile", "latency.p95"),
    ("99th percentile", "latency.p99"),
];
const CONDITIONS: [(&str, &str); 5] = [
    ("Number of threads", "sysbench threads"),
    ("Block size", "sysbench block size"),
    ("Read/Write ratio for combined random IO test", "sysbench read/write ratio"),
    ("Number of files", "sysbench files"),
    ("Periodic FSYNC enabled, calling fsync() each", "sysbench fsync"),
];

pub(super) fn runs(text: &str) -> Runs {
    let has = |what: &str| text.contains(what);
    let is_of_files = has("File operations:") || has("Requests/sec executed") || has("fsyncs/s") || has("fsync: IOPS=");
    if !is_of_files || !(text.lines().any(|line| version(line).is_some()) || has("total time:")) {
        return None;
    }
    let mut runs = vec![RunFigures::default()];
    for line in text.lines().map(str::trim) {
        let last = runs.last_mut().expect("there is one from the start");
        if version(line).is_some() && !last.metrics.is_empty() {
            runs.push(RunFigures::default());
        }
        read_line(line, runs.last_mut().expect("there is one from the start"));
    }
    runs.retain(|run| !run.metrics.is_empty());
    for run in &mut runs {
        run.facts.insert(0, Fact::new("workload", "sysbench fileio"));
    }
    Some(if runs.is_empty() { Err(malformed(TOOL, "its report has no figure; was it interrupted?")) } else { Ok(runs) })
}

/// `sysbench 1.0.20 (using ...`, `sysbench 0.4.12:  multi-threaded ...`
fn version(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("sysbench ")?;
    rest.starts_with(|c: char| c.is_ascii_digit()).then(|| rest.split([':', ' ']).next()).flatten()
}

fn read_line(line: &str, run: &mut RunFigures) {
    if let Some((requests, _)) = leading_number(line).filter(|(_, rest)| rest.trim() == "Requests/sec executed") {
        add(run, "requests_per_s", "/s", Better::Higher, requests);
    }
    if let Some(bytes_per_s) = transferred(line) {
        add(run, "bytes_per_s", "bytes/s", Better::Higher, bytes_per_s);
    }
    run.facts.extend(version(line).map(|version| Fact::new("sysbench version", version)));
    if let Some((label, value)) = line.split_once(" per ").filter(|_| line.starts_with("Number of IO requests")) {
        run.facts.push(Fact::new("sysbench requests", format!("{label} per {value}")));
    }
    let Some((label, value)) = line.split_once(':') else { return };
    let (label, value) = (label.trim(), value.trim());
    if let Some((_, name)) = CONDITIONS.iter().find(|(known, _)| *known == label) {
        run.facts.push(Fact::new(name, value));
    } else if let Some(rest) = value.strip_prefix("IOPS=") {
        of_direction(label, rest, run);
    } else if let Some((number, rest)) = leading_number(value) {
        of_label(label, number, rest.trim(), run);
    }
}

/// Of 0.4, whose `Mb` are MiB: `Read 937.5Mb  Written 625Mb  Total transferred 1.5259Gb  (15.625Mb/sec)`
fn transferred(line: &str) -> Option<f64> {
    const UNITS: [(&str, f64); 4] = [("b", 1.0), ("Kb", 1024.0), ("Mb", MIB), ("Gb", 1024.0 * MIB)];
    let (_, rate) = line.split_once("Total transferred ")?.1.split_once('(')?;
    let (number, unit) = leading_number(rate.strip_suffix("/sec)")?)?;
    UNITS.iter().find(|(known, _)| *known == unit).map(|(_, bytes)| number * bytes)
}

fn of_label(label: &str, number: f64, unit: &str, run: &mut RunFigures) {
    if let Some((_, name, factor)) = RATES.iter().find(|(known, ..)| *known == label).filter(|_| unit.is_empty()) {
        let unit = if factor.is_some() { "bytes/s" } else { "/s" };
        add(run, name, unit, Better::Higher, number * factor.unwrap_or(1.0));
    }
    let label = label.strip_prefix("approx.").map_or_else(|| label.to_owned(), |rest| of_04(rest.trim()));
    let factor = match unit {
        "" | "ms" => 1e6,
        "s" => 1e9,
        _ => return,
    };
    if label == "total time" && unit == "s" {
        run.measured_ns = Some(number * factor).filter(|ns| *ns > 0.0 && *ns < 1e18).map(|ns| ns as u64);
    } else if let Some((_, name)) = LATENCIES.iter().find(|(known, _)| *known == label) {
        add(run, name, "ns", Better::Lower, number * factor);
    }
}

/// `95 percentile` is the `95th percentile`.
fn of_04(label: &str) -> String {
    label.replacen(" percentile", "th percentile", 1)
}

/// `IOPS=1234.56 19.29 MiB/s (20.22 MB/s)`
fn of_direction(label: &str, rest: &str, run: &mut RunFigures) {
    let Some(direction) = ["read", "write", "fsync"].into_iter().find(|known| *known == label) else { return };
    let Some((per_s, rest)) = leading_number(rest) else { return };
    add(run, &format!("{direction}.per_s"), "/s", Better::Higher, per_s);
    if let Some((mib, _)) = leading_number(rest).filter(|(_, unit)| unit.trim_start().starts_with("MiB/s")) {
        add(run, &format!("{direction}.bytes_per_s"), "bytes/s", Better::Higher, mib * MIB);
    }
}

/// Rates of nothing are absent; of a figure that comes twice the first counts.
fn add(run: &mut RunFigures, name: &str, unit: &str, better: Better, value: f64) {
    let is_nothing = value == 0.0 && better == Better::Higher;
    if value.is_finite() && !is_nothing && !run.metrics.iter().any(|metric| metric.name == name) {
        run.metrics.push(Figure::level(name, unit, better, value));
    }
}
