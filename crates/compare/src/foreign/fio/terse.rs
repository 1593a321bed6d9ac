//! fio's terse lines (`--minimal`), versions 2 to 5: a line a job. All times are in us.
//!
//! A direction is its KiB, rate, operations and runtime, three kinds of latency, 20 percentiles between the second and
//! third, and bandwidth; version 5 adds samples and operations. Where each direction begins is verified by its
//! percentiles.

use super::report::{Direction, Found, Job, Report, TOOL};
use crate::foreign::error::malformed;
use crate::foreign::text::finite;

const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];
/// Within a direction: the first percentile, how many, and the smallest completion latency, which the largest follows.
const PERCENTILES_AT: usize = 12;
const PERCENTILES: usize = 20;
const SHORTEST_AT: usize = 8;
/// Fields of a direction, and of one of version 5.
const FIELDS: usize = 41;
const FIELDS_OF_5: usize = 47;

pub(super) fn reports(text: &str) -> Found {
    let lines: Vec<Vec<&str>> = text.lines().filter_map(fields).collect();
    if lines.is_empty() {
        return None;
    }
    let jobs: Option<Vec<(Option<String>, Job)>> = lines.iter().map(|fields| job(fields)).collect();
    let Some(jobs) = jobs else {
        let why = "a terse line lacks fields of its version; use --output-format=json";
        return Some(Err(malformed(TOOL, why)));
    };
    Some(Ok((in_reports(jobs), Vec::new())))
}

fn fields(line: &str) -> Option<Vec<&str>> {
    let fields: Vec<&str> = line.trim().split(';').collect();
    let is_version = |word: &str| ["2", "3", "4", "5"].contains(&word);
    (fields.len() > FIELDS && is_version(fields[0])).then_some(fields)
}

fn job(fields: &[&str]) -> Option<(Option<String>, Job)> {
    let version_of_fio = fields[1].starts_with("fio").then(|| fields[1].to_owned());
    // Version 2 does not name fio's own version.
    let name_at = 1 + usize::from(version_of_fio.is_some());
    let (size, most) = match fields[0] {
        "5" => (FIELDS_OF_5, 3),
        "4" => (FIELDS, 3),
        _ => (FIELDS, 2),
    };
    let of = |at: usize| {
        let begin = name_at + 3 + at * size;
        direction(DIRECTIONS[at], fields.get(begin..begin + size)?)
    };
    let directions: Vec<(Direction, u64)> = (0..most).map(of).collect::<Option<_>>()?;
    let runtime_ms = directions.iter().map(|(_, ms)| *ms).max();
    let job = Job {
        name: fields[name_at].to_owned(),
        group: fields[name_at + 1].parse().ok()?,
        has_error: fields[name_at + 2].parse::<i64>().ok()? != 0,
        runtime_ms,
        directions: directions.into_iter().map(|(direction, _)| direction).collect(),
        ..Job::default()
    };
    Some((version_of_fio, job))
}

fn direction(class: &'static str, fields: &[&str]) -> Option<(Direction, u64)> {
    let percentiles = fields[PERCENTILES_AT..PERCENTILES_AT + PERCENTILES].iter().map(|field| percentile(field));
    let percentiles: Vec<(f64, f64)> = percentiles.collect::<Option<_>>()?;
    let (kib_per_s, per_s, runtime_ms) = (finite(fields[1])?, finite(fields[2])?, finite(fields[3])?);
    let (shortest_us, longest_us) = (finite(fields[SHORTEST_AT])?, finite(fields[SHORTEST_AT + 1])?);
    let direction = Direction {
        class,
        total: (per_s * runtime_ms / 1e3).round(),
        per_s: Some(per_s),
        bytes_per_s: Some(kib_per_s * 1024.0),
        extremes_ns: (longest_us > 0.0).then_some((shortest_us * 1e3, longest_us * 1e3)),
        // What is not asked for is `0%=0`.
        percentiles: percentiles.into_iter().filter(|(percent, _)| *percent > 0.0).collect(),
    };
    Some((direction, runtime_ms as u64))
}

/// `99.000000%=420`, us.
fn percentile(field: &str) -> Option<(f64, f64)> {
    let (percent, us) = field.split_once("%=")?;
    Some((finite(percent)?, finite(us)? * 1e3))
}

/// A job of the same name that is larger in all belongs to the next report of the same run; others ran beside it.
fn in_reports(jobs: Vec<(Option<String>, Job)>) -> Vec<Report> {
    let mut reports: Vec<Report> = Vec::new();
    for (version, job) in jobs {
        let is_next = |report: &Report| {
            let longest_ms = report.jobs.iter().filter_map(|job| job.runtime_ms).max().unwrap_or(0);
            let same = |before: &&Job| (&before.name, before.group) == (&job.name, job.group);
            report.jobs.iter().any(|before| same(&before) && before.total() <= job.total())
                && job.runtime_ms.unwrap_or(0) as f64 >= longest_ms as f64 * super::series::LONGER
        };
        match reports.last_mut().filter(|report| report.version == version && !is_next(report)) {
            Some(report) => report.jobs.push(job),
            None => reports.push(Report { version, jobs: vec![job], ..Report::default() }),
        }
    }
    reports
}
