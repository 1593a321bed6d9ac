//! fio's JSON documents: one, several in a file, with text around them, and those of `--client`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::report::{Direction, Found, Job, Report, TOOL};
use crate::foreign::error::malformed;

/// fio's directions, and the names used here.
const DIRECTIONS: [(&str, &str); 5] =
    [("read", "read"), ("write", "write"), ("trim", "trim"), ("mixed", "mixed"), ("sync", "fsync")];
/// Options for locations and names, not for the workload.
const LOCATIONS: [&str; 5] = ["name", "directory", "filename", "filename_format", "description"];
/// fio's name for the sum of all clients.
const ALL_CLIENTS: &str = "All clients";

pub(super) fn reports(text: &str) -> Found {
    if !text.contains("\"fio version\"") {
        return None;
    }
    let (documents, failure) = documents(text);
    let failure = failure.map(|error| format!("its JSON is truncated or invalid: {error}"));
    if documents.is_empty() {
        let why = failure.unwrap_or_else(|| "it contains no JSON; use --output-format=json".to_owned());
        return Some(Err(malformed(TOOL, why)));
    }
    let cautions = failure.map(|why| format!("a document of the file is left out: {why}")).into_iter().collect();
    Some(Ok((documents.iter().map(report).collect(), cautions)))
}

/// The documents, and why one of them cannot be read. Text before, between and after them is skipped (fio#731).
fn documents(text: &str) -> (Vec<Value>, Option<serde_json::Error>) {
    let (mut documents, mut failure, mut at) = (Vec::new(), None, 0);
    while let Some(begin) = next_document(&text[at..]).map(|begin| at + begin) {
        let mut stream = serde_json::Deserializer::from_str(&text[begin..]).into_iter::<Value>();
        match stream.next() {
            Some(Ok(document)) => {
                at = begin + stream.byte_offset().max(1);
                if document.get("fio version").is_some() {
                    documents.push(document);
                }
            }
            // What follows may be whole: a report that was cut off by the next one.
            Some(Err(error)) => {
                at = begin + 1;
                failure = failure.or(Some(error));
            }
            None => break,
        }
    }
    (documents, failure)
}

/// Where a line begins with a brace that opens a document.
fn next_document(text: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let inner = line.trim_start();
        if inner.starts_with('{') && is_of_fio(&text[at..]) {
            return Some(at + line.len() - inner.len());
        }
        at += line.len();
    }
    None
}

/// fio writes its version first.
fn is_of_fio(text: &str) -> bool {
    let inner = text.trim_start().strip_prefix('{').unwrap_or_default();
    inner.trim_start().starts_with("\"fio version\"")
}

fn report(document: &Value) -> Report {
    let at_ms = document["timestamp_ms"].as_u64();
    let at_ms = at_ms.or_else(|| document["timestamp"].as_u64().and_then(|seconds| seconds.checked_mul(1000)));
    Report {
        version: document["fio version"].as_str().map(str::to_owned),
        at_ms,
        options: options(&document["global options"]),
        jobs: jobs(document),
        ..Report::default()
    }
}

fn jobs(document: &Value) -> Vec<Job> {
    if let Some(jobs) = document["jobs"].as_array() {
        return jobs.iter().map(job).collect();
    }
    let Some(clients) = document["client_stats"].as_array() else { return Vec::new() };
    let is_sum = |job: &&Value| job["jobname"] == ALL_CLIENTS;
    let of_clients: Vec<Job> = clients.iter().filter(|job| !is_sum(job)).map(job).collect();
    let sum = clients.iter().find(is_sum).map(job);
    match (of_clients.split_first(), sum) {
        // fio has merged the distributions of the clients, so that its sum has percentiles.
        (Some((first, rest)), Some(sum))
            if rest.iter().all(|job| (&job.name, job.group) == (&first.name, first.group)) =>
        {
            let mut options = first.options.clone();
            options.insert("clients".to_owned(), of_clients.len().to_string());
            vec![Job { name: first.name.clone(), host: None, options, ..sum }]
        }
        _ => of_clients,
    }
}

fn job(job: &Value) -> Job {
    let runtime_ms = job["job_runtime"].as_u64();
    Job {
        name: job["jobname"].as_str().unwrap_or_default().to_owned(),
        group: job["groupid"].as_u64().unwrap_or(0),
        host: job["hostname"].as_str().map(str::to_owned),
        pid: None,
        has_error: job["error"].as_i64().is_some_and(|error| error != 0),
        elapsed_s: job["elapsed"].as_u64(),
        runtime_ms: runtime_ms
            .or_else(|| DIRECTIONS.iter().filter_map(|(name, _)| job[*name]["runtime"].as_u64()).max()),
        options: options(&job["job options"]),
        directions: DIRECTIONS.into_iter().filter_map(|names| direction(job, names, runtime_ms)).collect(),
    }
}

fn options(options: &Value) -> BTreeMap<String, String> {
    let none = Map::new();
    let options = options.as_object().unwrap_or(&none).iter();
    let wanted = options.filter(|(what, _)| !LOCATIONS.contains(&what.as_str()));
    wanted
        .map(|(what, value)| (what.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect()
}

fn direction(job: &Value, (direction, class): (&str, &'static str), runtime_ms: Option<u64>) -> Option<Direction> {
    let of = job.get(direction)?;
    let number = |what: &str| of[what].as_f64().filter(|value| value.is_finite() && *value >= 0.0);
    let seconds = || Some(number("runtime")? / 1e3);
    // fio before 2.1 does not count operations.
    let total = number("total_ios").or_else(|| Some((number("iops")? * seconds()?).round())).unwrap_or(0.0);
    // fio reports no rate for syncs.
    let of_runtime = || Some(total * 1e3 / runtime_ms.filter(|ms| *ms > 0)? as f64);
    // Since fio 3.0; before that only KiB/s.
    let bytes_per_s = number("bw_bytes").or_else(|| number("bw").map(|kib| kib * 1024.0));
    let (latencies, factor) = latencies(of);
    let longest = latencies["max"].as_f64().filter(|longest| *longest > 0.0);
    let shortest = latencies["min"].as_f64().unwrap_or(0.0);
    Some(Direction {
        class,
        total,
        per_s: number("iops").or_else(of_runtime),
        bytes_per_s,
        extremes_ns: longest.map(|longest| (shortest * factor, longest * factor)),
        percentiles: percentiles(&latencies["percentile"], factor),
    })
}

/// Completion latency or total latency, whichever has percentiles; in microseconds before fio 3.0.
fn latencies(of: &Value) -> (&Value, f64) {
    let kinds = [("clat_ns", 1.0), ("lat_ns", 1.0), ("clat", 1e3), ("lat", 1e3)];
    let found = kinds.iter().find(|(kind, _)| of[*kind]["percentile"].is_object());
    found.map_or((&Value::Null, 1.0), |(kind, factor)| (&of[*kind], *factor))
}

fn percentiles(of: &Value, factor: f64) -> Vec<(f64, f64)> {
    let entries = of.as_object().into_iter().flatten();
    let sound = |value: &f64| value.is_finite() && *value >= 0.0;
    entries.filter_map(|(key, value)| Some((key.parse().ok()?, value.as_f64().filter(sound)? * factor))).collect()
}
