//! fio's JSON. Jobs of one name are one load: their rates add up. Percentiles do not, so they are only taken from a single
//! job, as with `--group_reporting`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::error::{ForeignError, Runs, malformed};
use crate::figures::{Better, Fact, Figure, RunFigures};

const TOOL: &str = "fio";
/// fio's directions, and the names used here.
const DIRECTIONS: [(&str, &str); 4] = [("read", "read"), ("write", "write"), ("trim", "trim"), ("sync", "fsync")];
const PERCENTILES: [(&str, f64); 4] = [("p50", 50.0), ("p95", 95.0), ("p99", 99.0), ("p999", 99.9)];
/// Options for locations and names, not for the workload.
const LOCATIONS: [&str; 5] = ["name", "directory", "filename", "filename_format", "description"];

pub(super) fn runs(text: &str) -> Runs {
    if !text.contains("\"fio version\"") {
        return None;
    }
    // Warnings may precede the document (fio#731), and the plain report may follow it.
    let begin = text.lines().position(|line| line.starts_with('{'));
    let document = begin.map(|line| text.lines().skip(line).collect::<Vec<_>>().join("\n"));
    let first = document.as_deref().map(|text| serde_json::Deserializer::from_str(text).into_iter::<Value>().next());
    Some(match first.flatten() {
        Some(Ok(document)) => run(&document).map(|run| vec![run]),
        Some(Err(error)) => Err(malformed(TOOL, format!("its JSON is truncated or invalid: {error}"))),
        None => Err(malformed(TOOL, "it contains no JSON; use --output-format=json")),
    })
}

fn run(document: &Value) -> Result<RunFigures, ForeignError> {
    let jobs = document["jobs"].as_array().filter(|jobs| !jobs.is_empty());
    let jobs = jobs
        .ok_or_else(|| malformed(TOOL, "it has no 'jobs'; for client/server output, use each server's own output"))?;
    let longest_ms = jobs.iter().filter_map(|job| job["job_runtime"].as_u64()).max();
    let mut run = RunFigures {
        started_wall_ns: document["timestamp_ms"].as_u64().and_then(|ms| ms.checked_mul(1_000_000)),
        measured_ns: longest_ms.and_then(|ms| ms.checked_mul(1_000_000)),
        ..RunFigures::default()
    };
    run.facts.push(Fact::new("workload", "fio"));
    run.facts.extend(document["fio version"].as_str().map(|version| Fact::new("fio version", version)));
    let mut named: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for job in jobs {
        named.entry(job["jobname"].as_str().unwrap_or_default()).or_default().push(job);
    }
    let several = named.len() > 1;
    let mut options = options(&document["global options"]);
    for (name, jobs) in &named {
        let prefix = if several { format!("{name}.") } else { String::new() };
        options.extend(
            self::options(&jobs[0]["job options"]).into_iter().map(|(what, value)| (prefix.clone() + &what, value)),
        );
        options.insert(format!("{prefix}jobs reported"), jobs.len().to_string());
        for direction in DIRECTIONS {
            run.metrics.extend(figures(&prefix, direction, jobs));
        }
        run.cautions.extend(cautions(jobs));
    }
    // Otherwise the duration is a result, not a condition.
    if !options.keys().any(|what| what.ends_with("time_based")) {
        run.measured_ns = None;
    }
    run.facts.extend(options.into_iter().map(|(what, value)| Fact::new(&format!("fio {what}"), value)));
    Ok(run)
}

fn cautions(jobs: &[&Value]) -> Vec<String> {
    let mut found = Vec::new();
    if jobs.len() > 1 {
        found.push("percentiles of several jobs cannot be combined and are omitted; use --group_reporting".into());
    }
    if jobs.iter().any(|job| job["error"].as_i64().is_some_and(|error| error != 0)) {
        found.push("fio reported an error; its figures may cover only part of the run".into());
    }
    found
}

fn options(options: &Value) -> BTreeMap<String, String> {
    let none = Map::new();
    let options = options.as_object().unwrap_or(&none).iter();
    let wanted = options.filter(|(what, _)| !LOCATIONS.contains(&what.as_str()));
    wanted
        .map(|(what, value)| (what.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect()
}

fn figures(prefix: &str, (direction, class): (&str, &str), jobs: &[&Value]) -> Vec<Figure> {
    let of: Vec<&Value> = jobs.iter().map(|job| &job[direction]).collect();
    let total: u64 = of.iter().filter_map(|job| job["total_ios"].as_u64()).fold(0, u64::saturating_add);
    let mut figures = Vec::new();
    if total == 0 {
        return figures;
    }
    let sum = |what: &str| of.iter().filter_map(|job| job[what].as_f64()).reduce(|a, b| a + b);
    // fio reports no rate for syncs.
    let per_s =
        sum("iops").or_else(|| Some(total as f64 * 1e3 / jobs[0]["job_runtime"].as_f64().filter(|&ms| ms > 0.0)?));
    figures.extend(per_s.map(|rate| Figure::level(format!("{prefix}{class}.per_s"), "/s", Better::Higher, rate)));
    // Since fio 3.0; before that only KiB/s.
    let bytes_per_s = sum("bw_bytes").or_else(|| sum("bw").map(|kib| kib * 1024.0));
    figures.extend(
        bytes_per_s.map(|rate| Figure::level(format!("{prefix}{class}.bytes_per_s"), "bytes/s", Better::Higher, rate)),
    );
    if let [only] = of[..] {
        figures.extend(percentiles(&format!("{prefix}{class}"), only, total));
    }
    figures
}

/// Percentiles of completion latency or total latency, whichever fio recorded; in microseconds before fio 3.0.
fn percentiles(class: &str, direction: &Value, total: u64) -> Vec<Figure> {
    let kinds = [("clat_ns", 1.0), ("lat_ns", 1.0), ("clat", 1e3), ("lat", 1e3)];
    let found = kinds.iter().find_map(|(kind, factor)| Some((direction[*kind]["percentile"].as_object()?, factor)));
    let Some((percentiles, factor)) = found else { return Vec::new() };
    let figure = |(name, percent): (&str, f64)| {
        let is_it = |key: &str| key.parse::<f64>().is_ok_and(|key| (key - percent).abs() < 1e-6);
        let value = percentiles.iter().find(|(key, _)| is_it(key))?.1.as_f64()?;
        // With less than one operation beyond it, the percentile is the maximum.
        (total as f64 * (100.0 - percent) >= 100.0 - 1e-6)
            .then(|| Figure::level(format!("{class}.{name}"), "ns", Better::Lower, value * factor))
    };
    PERCENTILES.into_iter().filter_map(figure).collect()
}
