//! fio's normal report, of fio 2 and 3.
//!
//! ```text
//! j: (groupid=0, jobs=1): err= 0: pid=17: Mon Jan  5 10:00:00 2026
//!   read: IOPS=505k, BW=1975MiB/s (2071MB/s)(512MiB/259msec)        fio 3
//!   read : io=512.0MB, bw=16385KB/s, iops=4096, runtime= 32001msec  fio 2, whose KB are KiB
//!     clat percentiles (usec):
//!      |  1.00th=[   40],  5.00th=[   40], ...
//! ```

use super::report::{Direction, Found, Job, Report};
use crate::foreign::text::leading_number;

const DIRECTIONS: [(&str, &str); 4] = [("read", "read"), ("write", "write"), ("trim", "trim"), ("mixed", "mixed")];

pub(super) fn reports(text: &str) -> Found {
    text.lines().any(|line| job(line).is_some()).then(|| {
        let mut reader = Reader::default();
        text.lines().for_each(|line| reader.line(line));
        reader.finish();
        Ok((reader.reports, Vec::new()))
    })
}

/// Reads line after line; what a line belongs to is the last heading above it.
#[derive(Default)]
struct Reader {
    reports: Vec<Report>,
    version: Option<String>,
    /// Factor to ns of the percentiles that follow, while they follow.
    percentiles: Option<f64>,
    /// Whether percentiles of the direction are of its completion latency, which precede others.
    has_completion: bool,
    /// Whether the lines are of the last job.
    in_job: bool,
    /// Whether the job's directions are over: what is counted of all of them follows.
    is_counted: bool,
}

impl Reader {
    fn line(&mut self, line: &str) {
        let line = line.trim();
        if let Some(job) = job(line) {
            self.add_job(job);
        } else if is_version(line) {
            self.version = Some(line.to_owned());
            self.in_job = false;
        } else if line.starts_with("Run status group") {
            self.in_job = false;
        } else if self.in_job {
            self.detail(line);
        }
    }

    fn add_job(&mut self, job: Job) {
        (self.in_job, self.is_counted, self.percentiles) = (true, false, None);
        let same = |before: &Job| (&before.name, before.group, before.pid) == (&job.name, job.group, job.pid);
        let fits = |report: &&mut Report| report.version == self.version && !report.jobs.iter().any(same);
        match self.reports.last_mut().filter(fits) {
            Some(report) => report.jobs.push(job),
            None => {
                let version = self.version.clone();
                self.reports.push(Report { version, jobs: vec![job], is_rounded: true, ..Report::default() });
            }
        }
    }

    fn job(&mut self) -> Option<&mut Job> {
        self.reports.last_mut()?.jobs.last_mut()
    }

    fn detail(&mut self, line: &str) {
        if let Some(direction) = direction(line) {
            self.begin(direction, runtime_ms(line));
        } else if let Some((kind, factor)) = percentiles_heading(line) {
            let is_wanted = kind != "slat" && !(kind == "lat" && self.has_completion);
            self.has_completion |= kind == "clat";
            self.percentiles = is_wanted.then_some(factor);
        } else if line.starts_with('|') {
            self.add_percentiles(line);
        } else if let Some((_, totals)) = line.split_once("total=").filter(|_| line.starts_with("issued")) {
            self.set_totals(totals);
        } else if let Some((kind, extremes_ns)) = extremes(line) {
            self.set_extremes(kind, extremes_ns);
        }
        self.is_counted |= ["cpu ", "IO depths", "issued"].iter().any(|begin| line.starts_with(begin));
    }

    /// What follows is of this direction. One that comes again, or after the counts of all, is of a job whose own line
    /// is missing.
    fn begin(&mut self, direction: Direction, runtime_ms: Option<u64>) {
        (self.percentiles, self.has_completion) = (None, false);
        let is_again = |job: &&mut Job| job.directions.iter().any(|known| known.class == direction.class);
        self.in_job = !self.is_counted && self.job().filter(is_again).is_none();
        let in_job = self.in_job;
        if let Some(job) = self.job().filter(|_| in_job) {
            job.runtime_ms = job.runtime_ms.max(runtime_ms);
            job.directions.push(direction);
        }
    }

    fn add_percentiles(&mut self, line: &str) {
        let Some(factor) = self.percentiles else { return };
        let found: Vec<(f64, f64)> = line.split(',').filter_map(percentile).map(|(p, v)| (p, v * factor)).collect();
        if let Some(direction) = self.job().and_then(|job| job.directions.last_mut()) {
            direction.percentiles.extend(found);
        }
    }

    /// `min=1, max=2, ...` of the kind of latency that has the percentiles.
    fn set_extremes(&mut self, kind: &str, extremes_ns: (f64, f64)) {
        let Some(direction) = self.job().and_then(|job| job.directions.last_mut()) else { return };
        let fits = if direction.class == "fsync" { kind == "sync" } else { kind == "clat" };
        if fits && direction.extremes_ns.is_none() {
            direction.extremes_ns = Some(extremes_ns);
        }
    }

    /// `486,538,0,15` of reads, writes, trims and syncs; `r=486/w=538/d=0` in fio 2.
    fn set_totals(&mut self, totals: &str) {
        let totals = totals.split_whitespace().next().unwrap_or_default().trim_end_matches(',');
        let numbers: Vec<f64> = totals
            .split([',', '/'])
            .filter_map(|word| word.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '=').parse().ok())
            .collect();
        let Some(job) = self.job() else { return };
        let runtime_ms = job.runtime_ms;
        for direction in &mut job.directions {
            let at = match direction.class {
                "read" | "mixed" => 0,
                "write" => 1,
                "trim" => 2,
                _ => 3,
            };
            let Some(total) = numbers.get(at).filter(|total| **total > 0.0) else { continue };
            direction.total = *total;
            if direction.class == "fsync" {
                direction.per_s = runtime_ms.filter(|ms| *ms > 0).map(|ms| total * 1e3 / ms as f64);
            }
        }
    }

    /// What a job did before its counts were cut off is known by its rate.
    fn finish(&mut self) {
        for job in self.reports.iter_mut().flat_map(|report| &mut report.jobs) {
            let seconds = job.runtime_ms.unwrap_or(0) as f64 / 1e3;
            for direction in &mut job.directions {
                if direction.total == 0.0 {
                    direction.total = (direction.per_s.unwrap_or(0.0) * seconds).round();
                }
                // Percentiles have no fraction, in a unit that keeps them above 2000.
                let unit_ns = direction.percentiles.iter().map(|(_, value)| *value).fold(0.0, f64::max) / 2000.0;
                direction.drop_mixed_percentiles(unit_ns.clamp(1.0, 1e9));
            }
        }
    }
}

/// `NAME: (groupid=0, jobs=1): err= 0: pid=17: Mon Jan  5 ...`; with `--client`, `<HOST> ` precedes it.
fn job(line: &str) -> Option<Job> {
    let (name, rest) = line.split_once(": (groupid=")?;
    let (group, rest) = leading_number(rest)?;
    let (_, rest) = rest.split_once("err=")?;
    let error = rest.trim_start().split(|c: char| !c.is_ascii_digit() && c != '-').next()?;
    let pid = rest.split_once("pid=").and_then(|(_, pid)| leading_number(pid));
    let (host, name) = match name.trim().strip_prefix('<').and_then(|name| name.split_once("> ")) {
        Some((host, name)) => (Some(host.to_owned()), name),
        None => (None, name.trim()),
    };
    Some(Job {
        name: name.trim().to_owned(),
        group: group as u64,
        host,
        pid: pid.map(|(pid, _)| pid as u64),
        has_error: error.trim() != "0",
        ..Job::default()
    })
}

fn is_version(line: &str) -> bool {
    line.strip_prefix("fio-").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()) && !rest.contains(' '))
}

fn direction(line: &str) -> Option<Direction> {
    if line.starts_with("fsync/fdatasync") {
        return Some(Direction { class: "fsync", ..Direction::default() });
    }
    let (name, rest) = line.split_once(':')?;
    let (_, class) = DIRECTIONS.iter().find(|(direction, _)| *direction == name.trim())?;
    let after = |key: &str| rest.split([',', ' ']).find_map(|word| word.strip_prefix(key));
    let rate = after("IOPS=").or_else(|| after("iops="));
    let is_of_3 = after("BW=").is_some();
    let bytes = after("BW=").or_else(|| after("bw=")).and_then(|word| bytes_per_s(word, is_of_3));
    let per_s = rate.and_then(scaled);
    (per_s.is_some() || bytes.is_some()).then(|| Direction { class, per_s, bytes_per_s: bytes, ..Direction::default() })
}

/// `505k`, `1.2M`, `4096`.
fn scaled(word: &str) -> Option<f64> {
    let (number, unit) = leading_number(word)?;
    let factor = match unit.chars().next() {
        None => 1.0,
        Some('k' | 'K') => 1e3,
        Some('M') => 1e6,
        Some('G') => 1e9,
        Some(_) => return None,
    };
    Some(number * factor)
}

/// `1975MiB/s`; the `KB/s` of fio 2 are KiB.
fn bytes_per_s(word: &str, is_of_3: bool) -> Option<f64> {
    let (number, unit) = leading_number(word)?;
    let unit = unit.strip_suffix("/s")?.strip_suffix('B')?;
    let binary = unit.ends_with('i') || !is_of_3;
    let power =
        ["", "K", "M", "G", "T"].iter().position(|prefix| prefix.eq_ignore_ascii_case(unit.trim_end_matches('i')))?;
    Some(number * if binary { 1024f64 } else { 1000f64 }.powi(power as i32))
}

/// `(512MiB/259msec)` or `runtime= 32001msec`.
fn runtime_ms(line: &str) -> Option<u64> {
    let before = line.split("msec").next().filter(|before| before.len() < line.len())?;
    let digits = before.rfind(|c: char| !c.is_ascii_digit()).map_or(before, |at| &before[at + 1..]);
    digits.parse().ok()
}

/// `clat percentiles (usec):`
fn percentiles_heading(line: &str) -> Option<(&str, f64)> {
    let (kind, unit) = line.split_once(" percentiles (")?;
    Some((kind.trim(), factor(unit.split(')').next()?)?))
}

/// `clat (usec): min=38, max=182, avg=47.00, stdev=10.03`: kind, and minimum and maximum in ns.
fn extremes(line: &str) -> Option<(&str, (f64, f64))> {
    let (kind, rest) = line.split_once('(')?;
    let (unit, rest) = rest.split_once(')')?;
    let of = |key: &str| rest.split_once(key)?.1.trim_start().split(',').next().and_then(scaled);
    let factor = factor(unit.trim())?;
    Some((kind.trim(), (of("min=")? * factor, of("max=")? * factor)))
}

fn factor(unit: &str) -> Option<f64> {
    Some(match unit {
        "nsec" => 1.0,
        "usec" => 1e3,
        "msec" => 1e6,
        "sec" => 1e9,
        _ => return None,
    })
}

/// `99.00th=[   81]`
fn percentile(word: &str) -> Option<(f64, f64)> {
    let (percent, value) = word.trim().trim_start_matches('|').split_once("th=[")?;
    let value = value.strip_suffix(']')?.trim().trim_start_matches(">=");
    Some((percent.trim().parse().ok()?, leading_number(value).filter(|(_, rest)| rest.is_empty())?.0))
}
