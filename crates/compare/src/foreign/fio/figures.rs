//! A report as the figures of a run. Jobs of one name are one load: their rates add up. Percentiles do not, so they are
//! only taken from a single job, as with `--group_reporting`.

use super::report::{Direction, Job, Report};
use crate::figures::{Better, Fact, Figure, RunFigures};

const PERCENTILES: [(&str, f64); 4] = [("p50", 50.0), ("p95", 95.0), ("p99", 99.0), ("p999", 99.9)];
/// Middle of the last bucket in which fio counts latencies, ns, and its upper end: since fio 3.0, and before. What took
/// longer is in it, too (`FIO_IO_U_PLAT_GROUP_NR` and `plat_idx_to_val` of fio's stat.h and stat.c).
const LAST_BUCKETS: [(f64, f64); 2] = [(17_112_760_320.0, 17_179_869_184.0), (16_711_680_000.0, 16_777_216_000.0)];
/// A percentile as printed differs by less than this share from the middle of its bucket.
const ROUNDING: f64 = 1e-4;

/// Jobs of one name that run at the same time.
struct Load<'a> {
    group: u64,
    name: &'a str,
    jobs: Vec<&'a Job>,
}

pub(super) fn run(report: &Report) -> RunFigures {
    let longest_ms = report.jobs.iter().filter_map(|job| job.runtime_ms).max();
    let mut run = RunFigures {
        started_wall_ns: report.at_ms.and_then(|ms| ms.checked_mul(1_000_000)),
        measured_ns: longest_ms.and_then(|ms| ms.checked_mul(1_000_000)),
        ..RunFigures::default()
    };
    run.facts.push(Fact::new("workload", "fio"));
    run.facts.extend(report.version.as_deref().map(|version| Fact::new("fio version", version)));
    let mut options = report.options.clone();
    for (prefix, load) in named(&report.jobs) {
        for (what, value) in &load.jobs[0].options {
            options.insert(format!("{prefix}{what}"), value.clone());
        }
        options.insert(format!("{prefix}jobs reported"), load.jobs.len().to_string());
        add_load(&mut run, &prefix, &load.jobs);
    }
    if report.preceded_by > 0 {
        let reports = report.preceded_by + 1;
        run.cautions.push(format!("{reports} reports of one run (--status-interval); the last one counts for all"));
    }
    if report.is_rounded {
        run.cautions.push("fio's normal report rounds its figures; use --output-format=json".to_owned());
    }
    // Otherwise the duration is a result, not a condition.
    if !options.keys().any(|what| what.ends_with("time_based")) {
        run.measured_ns = None;
    }
    run.facts.extend(options.into_iter().map(|(what, value)| Fact::new(&format!("fio {what}"), value)));
    run
}

/// The loads, each with the prefix of its metrics.
fn named(jobs: &[Job]) -> Vec<(String, Load<'_>)> {
    let mut loads: Vec<Load<'_>> = Vec::new();
    for job in jobs {
        match loads.iter_mut().find(|load| (load.group, load.name) == (job.group, job.name.as_str())) {
            Some(load) => load.jobs.push(job),
            None => loads.push(Load { group: job.group, name: &job.name, jobs: vec![job] }),
        }
    }
    loads.sort_by(|one, other| (one.name, one.group).cmp(&(other.name, other.group)));
    let prefixes: Vec<String> = loads.iter().map(|load| prefix(load, &loads)).collect();
    prefixes.into_iter().zip(loads).collect()
}

fn prefix(load: &Load<'_>, all: &[Load<'_>]) -> String {
    if all.len() == 1 {
        return String::new();
    }
    if all.iter().filter(|other| other.name == load.name).count() > 1 {
        return format!("{}.group{}.", load.name, load.group);
    }
    format!("{}.", load.name)
}

fn add_load(run: &mut RunFigures, prefix: &str, jobs: &[&Job]) {
    let mut classes: Vec<&str> = Vec::new();
    for direction in jobs.iter().flat_map(|job| &job.directions) {
        if !classes.contains(&direction.class) {
            classes.push(direction.class);
        }
    }
    for class in classes {
        let of = jobs.iter().flat_map(|job| &job.directions).filter(|direction| direction.class == class);
        add_class(run, &format!("{prefix}{class}"), &of.collect::<Vec<_>>());
    }
    if jobs.len() > 1 {
        run.cautions
            .push("percentiles of several jobs cannot be combined and are omitted; use --group_reporting".into());
    }
    if jobs.iter().any(|job| job.has_error) {
        run.cautions.push("fio reported an error; its figures may cover only part of the run".into());
    }
}

fn add_class(run: &mut RunFigures, name: &str, of: &[&Direction]) {
    if of.iter().all(|direction| direction.total == 0.0) {
        return;
    }
    let sum = |what: fn(&Direction) -> Option<f64>| of.iter().filter_map(|of| what(of)).reduce(|a, b| a + b);
    let level =
        |figure: &str, unit: &str, value| Figure::level(format!("{name}.{figure}"), unit, Better::Higher, value);
    run.metrics.extend(sum(|of| of.per_s).map(|value| level("per_s", "/s", value)));
    run.metrics.extend(sum(|of| of.bytes_per_s).map(|value| level("bytes_per_s", "bytes/s", value)));
    let [only] = of else { return };
    let (censored, measured): (Vec<_>, Vec<_>) =
        percentiles(only).partition(|(_, value)| is_censored(*value, only.extremes_ns));
    for (percentile, value) in measured {
        run.metrics.push(Figure::level(format!("{name}.{percentile}"), "ns", Better::Lower, value));
    }
    if !censored.is_empty() {
        let which: Vec<String> = censored.iter().map(|(percentile, _)| format!("{name}.{percentile}")).collect();
        let seconds = censored[0].1 / 1e9;
        run.cautions.push(format!(
            "at least {seconds:.1} s, fio's last bucket, which is no measurement: {}; they get no verdict",
            which.join(", ")
        ));
        run.censored.extend(which);
    }
}

fn percentiles(of: &Direction) -> impl Iterator<Item = (&'static str, f64)> {
    PERCENTILES.into_iter().filter_map(|(name, percent)| {
        let value = of.percentiles.iter().find(|(key, _)| (key - percent).abs() < 1e-6)?.1;
        // With less than one operation beyond it, the percentile is the maximum.
        (of.total * (100.0 - percent) >= 100.0 - 1e-6).then_some((name, value))
    })
}

/// Whether a percentile is fio's last bucket, while something took longer than that holds, or may have.
fn is_censored(value: f64, extremes_ns: Option<(f64, f64)>) -> bool {
    LAST_BUCKETS.iter().any(|(middle, end)| {
        (value - middle).abs() <= middle * ROUNDING && extremes_ns.is_none_or(|(_, longest)| longest > *end)
    })
}
