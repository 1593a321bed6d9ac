//! simoop's lines, by simoop or by `run simoop`: for each run the last report, or that after `Final stats`. A report
//! whose run time is not later than that before it begins another run, as in a mail that compares two.

use super::error::{Runs, malformed};
use super::text::{leading_number, steady};
use crate::figures::{Amount, Better, Fact, Figure, RunFigures};

const TOOL: &str = "simoop";
const CLASSES: [(&str, &str); 3] = [("Read", "read"), ("Write", "write"), ("Allocation", "allocation")];
const PERCENTILES: [&str; 3] = ["p50", "p95", "p99"];

/// One report.
#[derive(Default)]
struct Report {
    seconds: f64,
    latencies: Vec<Figure>,
    /// Of the latest interval, and the average.
    work: Option<(f64, f64)>,
    stalls_per_s: Option<f64>,
}

pub(super) fn runs(text: &str) -> Runs {
    let has = |begin: &str| text.lines().any(|line| line.trim_start().starts_with(begin));
    if !has("work rate =") || !has("Read latency") {
        return None;
    }
    let mut reader = Reader::default();
    text.lines().for_each(|line| reader.line(line.trim()));
    reader.finish();
    Some(if reader.found.is_empty() {
        Err(malformed(TOOL, "no report has a work rate; was the run interrupted in its warm-up?"))
    } else {
        Ok(reader.found)
    })
}

/// Collects the reports of a run.
#[derive(Default)]
struct Reader {
    found: Vec<RunFigures>,
    reports: Vec<Report>,
    /// Reports of the warm-up do not count.
    is_warming: bool,
    /// The next report is the final one.
    is_final: bool,
    is_over: bool,
}

impl Reader {
    fn line(&mut self, line: &str) {
        if line == "Warming up" || line == "Warmup complete" {
            // Without its begin, what precedes the end of a warm-up belongs to it, unless it is another run.
            if self.is_over || line == "Warming up" {
                self.finish();
            }
            let is_warming = line == "Warming up";
            *self = Reader { found: std::mem::take(&mut self.found), is_warming, ..Reader::default() };
        } else if self.is_warming {
        } else if line == "Final stats" {
            self.is_final = true;
        } else if let Some(seconds) = line.strip_prefix("Run time:") {
            self.begin(leading_number(seconds).map_or(0.0, |(seconds, _)| seconds));
        } else if !self.reports.is_empty() {
            self.entry(line);
        }
    }

    fn begin(&mut self, seconds: f64) {
        let is_later = self.reports.last().is_none_or(|before| seconds > before.seconds || self.is_final);
        if self.is_over || !is_later {
            self.finish();
        }
        self.reports.push(Report { seconds, ..Report::default() });
    }

    fn entry(&mut self, line: &str) {
        let has_work = self.reports.last().is_some_and(|report| report.work.is_some());
        if line.starts_with(CLASSES[0].0) && has_work {
            // The line with its run time is missing: it cannot belong to the report above.
            self.finish();
            self.reports.push(Report::default());
        }
        if let Some(report) = self.reports.last_mut() {
            entry(line, report);
            self.is_over = self.is_final && report.work.is_some() && line.starts_with("alloc stall rate");
        }
    }

    fn finish(&mut self) {
        self.found.extend(run(&self.reports));
        self.reports.clear();
        (self.is_final, self.is_over) = (false, false);
    }
}

/// Adds a line to its report.
fn entry(line: &str, report: &mut Report) {
    for (name, class) in CLASSES {
        if line.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with("latency")) {
            for percentile in PERCENTILES {
                if let Some(us) = bracketed(line, percentile) {
                    report.latencies.push(Figure::level(
                        format!("{class}.{percentile}"),
                        "ns",
                        Better::Lower,
                        us * 1e3,
                    ));
                }
            }
        }
    }
    let rate = |rest: &str| number(rest.trim_start().trim_start_matches('=').trim_start());
    if let Some(rest) = line.strip_prefix("work rate") {
        report.work = rate(rest).zip(bracketed(line, "avg"));
    }
    if let Some(rest) = line.strip_prefix("alloc stall rate") {
        report.stalls_per_s = rate(rest).and(bracketed(line, "avg"));
    }
}

/// The number in `(key: number)` or `(key number/sec)`.
fn bracketed(line: &str, key: &str) -> Option<f64> {
    let inside = line.split('(').skip(1).map(|part| part.split(')').next().unwrap_or_default());
    let of_key = |part: &str| part.strip_prefix(key).filter(|rest| rest.starts_with([':', ' '])).map(str::to_owned);
    number(inside.filter_map(of_key).next()?.trim_start_matches(':').trim_start())
}

/// The number at the start of a text; digits may be grouped.
fn number(text: &str) -> Option<f64> {
    let digits: String =
        text.chars().take_while(|c| c.is_ascii_digit() || ",.".contains(*c)).filter(|c| *c != ',').collect();
    digits.parse().ok()
}

fn run(reports: &[Report]) -> Option<RunFigures> {
    let last = reports.last()?;
    let (_, average) = last.work?;
    let mut run = RunFigures::default();
    run.metrics.push(Figure::level("work_per_s", "/s", Better::Higher, average));
    if let Some(per_s) = last.stalls_per_s.filter(|_| last.seconds > 0.0) {
        let amount = Amount::Count { events: (per_s * last.seconds).round(), over: last.seconds };
        let name = "alloc_stalls_per_s".to_owned();
        run.metrics.push(Figure { name, unit: "/s".to_owned(), better: Better::Lower, amount });
    }
    run.metrics.extend(last.latencies.iter().cloned());
    // The final report repeats the latest interval.
    let mut rates: Vec<f64> = reports.iter().filter_map(|report| Some(report.work?.0)).collect();
    if reports.len() > 1 && reports[reports.len() - 2].seconds == last.seconds {
        rates.pop();
    }
    run.steadiness = steady(&rates).unwrap_or(run.steadiness);
    run.measured_ns = (last.seconds > 0.0 && last.seconds < 1e9).then_some((last.seconds * 1e9) as u64);
    run.facts.push(Fact::new("workload", "simoop"));
    Some(run)
}
