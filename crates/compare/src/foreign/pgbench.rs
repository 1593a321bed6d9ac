//! pgbench's report. A report is a run. The rate is that without the time for connecting, as newer versions print it;
//! versions before 14 print both.

use model::quantity::counted;

use super::error::{Runs, malformed};
use super::text::{leading_number, steady};
use crate::figures::{Better, Fact, Figure, RunFigures};

const TOOL: &str = "pgbench";
const CONDITIONS: [(&str, &str); 6] = [
    ("transaction type", "pgbench transaction type"),
    ("scaling factor", "pgbench scaling factor"),
    ("query mode", "pgbench query mode"),
    ("number of clients", "pgbench clients"),
    ("number of threads", "pgbench threads"),
    ("duration", "pgbench duration"),
];

/// A report so far.
#[derive(Default)]
struct Report {
    facts: Vec<Fact>,
    metrics: Vec<Figure>,
    /// Including the time for connecting.
    including: Option<f64>,
    /// Of `--progress`.
    rates: Vec<f64>,
    cautions: Vec<String>,
    measured_ns: Option<u64>,
}

pub(super) fn runs(text: &str) -> Runs {
    let begins = |line: &str| line.trim_start().starts_with("transaction type:");
    if !text.lines().any(begins) {
        return None;
    }
    let mut reports = vec![Report::default()];
    for line in text.lines().map(str::trim) {
        let last = reports.last().expect("there is one from the start");
        let is_done = !last.metrics.is_empty() || last.including.is_some();
        if is_done && (begins(line) || progress(line).is_some()) {
            reports.push(Report::default());
        }
        reports.last_mut().expect("there is one from the start").line(line);
    }
    let runs: Vec<RunFigures> = reports.into_iter().filter_map(Report::run).collect();
    Some(if runs.is_empty() { Err(malformed(TOOL, "its report has no 'tps'; was it interrupted?")) } else { Ok(runs) })
}

/// `progress: 5.0 s, 812.3 tps, lat 12.3 ms stddev 4.5`
fn progress(line: &str) -> Option<f64> {
    let (_, rest) = line.strip_prefix("progress:")?.split_once(',')?;
    let (tps, rest) = leading_number(rest)?;
    rest.trim_start().starts_with("tps").then_some(tps)
}

impl Report {
    fn line(&mut self, line: &str) {
        if let Some(tps) = progress(line) {
            self.rates.push(tps);
            return;
        }
        // `latency average = 1.2 ms`, and before version 10 `latency average: 1.2 ms`.
        let Some((what, value)) = line.split_once(" = ").or_else(|| line.split_once(": ")) else { return };
        let value = value.trim();
        if let Some((_, name)) = CONDITIONS.iter().find(|(known, _)| *known == what) {
            self.facts.push(Fact::new(name, value));
            if what == "duration" {
                let seconds = leading_number(value).map(|(seconds, _)| seconds).filter(|seconds| *seconds < 1e9);
                self.measured_ns = seconds.map(|seconds| (seconds * 1e9) as u64);
            }
        } else if let Some((number, rest)) = leading_number(value) {
            self.figure(what, number, rest.trim());
        }
    }

    fn figure(&mut self, what: &str, number: f64, rest: &str) {
        match what {
            "tps" if rest.starts_with("(including") => self.including = Some(number),
            "tps" => self.add("tps", "/s", Better::Higher, number),
            "latency average" if rest.starts_with("ms") => self.add("latency.mean", "ns", Better::Lower, number * 1e6),
            "number of failed transactions" if number > 0.0 => {
                self.cautions
                    .push(format!("{} failed; the rate counts the others", counted(number as u64, "transaction")));
            }
            _ => {}
        }
    }

    fn add(&mut self, name: &str, unit: &str, better: Better, value: f64) {
        if !self.metrics.iter().any(|metric| metric.name == name) {
            self.metrics.push(Figure::level(name, unit, better, value));
        }
    }

    fn run(mut self) -> Option<RunFigures> {
        let has_rate = self.metrics.iter().any(|metric| metric.name == "tps");
        if let Some(tps) = self.including.filter(|_| !has_rate) {
            self.add("tps", "/s", Better::Higher, tps);
            self.cautions.push("the rate includes the time for connecting".to_owned());
        }
        let facts = [Fact::new("workload", "pgbench")].into_iter().chain(self.facts).collect();
        let steadiness = steady(&self.rates).unwrap_or_default();
        let Report { metrics, cautions, measured_ns, .. } = self;
        (!metrics.is_empty()).then(|| RunFigures {
            metrics,
            facts,
            cautions,
            measured_ns,
            steadiness,
            ..RunFigures::default()
        })
    }
}
