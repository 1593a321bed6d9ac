//! What was compared: a metric, or the stalls of a cause, on both sides.

use super::figures::Better;
use super::verdict::{Findings, Verdict};
use statistics::Ratio;

/// A metric on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Which direction is better.
    pub better: Better,
    /// Values of the runs of A; runs without a value are omitted.
    pub a: Vec<f64>,
    /// The runs' values of B.
    pub b: Vec<f64>,
    /// B to A.
    pub ratio: Ratio,
    /// The same on each machine, in the order of [`Comparison::machines`](super::Comparison::machines), each with an
    /// interval that holds for all of them together; `None` where a side has no value.
    pub by_machine: Vec<Option<Ratio>>,
    /// Differences up to this share do not matter.
    pub margin: f64,
    /// Exact, two-sided.
    pub p: f64,
    /// Corrected for the number of metrics.
    pub q: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// Additional runs per side for a verdict; `None` where there is a verdict, or the number is unknown.
    pub need_runs: Option<u64>,
    /// Typical values of A and of B.
    pub(super) typical: (f64, f64),
    /// What the verdict rests on.
    pub(super) findings: Findings,
}

impl PartialEq for Findings {
    fn eq(&self, other: &Findings) -> bool {
        self.ratio == other.ratio && self.narrow == other.narrow && self.margin == other.margin
    }
}

impl Compared {
    /// The typical value of A: the median of its runs; for events the total count over the total time, as in the ratio.
    pub fn typical_a(&self) -> f64 {
        self.typical.0
    }

    /// The typical value of B.
    pub fn typical_b(&self) -> f64 {
        self.typical.1
    }

    /// Sort key: by verdict, then decided differences by size. Others keep their order.
    pub(super) fn importance(&self) -> (Verdict, f64) {
        if !self.verdict.is_decided() {
            return (self.verdict, 0.0);
        }
        // Rounded: rates that differ only in the last digit keep their order.
        let size = (self.ratio.ratio.ln().abs() * 1e6).round();
        (self.verdict, if size.is_nan() { 0.0 } else { -size })
    }
}

/// Stalls of one cause on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedStalls {
    /// The cause.
    pub cause: &'static str,
    /// Operations with this main cause, per run, or per second if the runs' lengths differ (see its unit). `None` where
    /// there was none.
    pub count: Option<Compared>,
    /// Mean number of these in a run of A and of B.
    pub per_run: (f64, f64),
    /// Time lost to it, per run or per second.
    pub time: Compared,
    /// Mean time lost to it in a run of A and of B, ns.
    pub time_per_run_ns: (f64, f64),
}

impl ComparedStalls {
    /// The verdict on the count, or on the time where it never was the main cause.
    pub fn verdict(&self) -> Verdict {
        self.count.as_ref().unwrap_or(&self.time).verdict
    }

    pub(super) fn importance(&self) -> (Verdict, f64) {
        (self.verdict(), -self.time.typical_a().max(self.time.typical_b()))
    }
}
