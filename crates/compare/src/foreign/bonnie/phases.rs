//! What the phases of bonnie++ did, and their names.

use crate::figures::{Better, Fact, Figure, RunFigures};
use crate::foreign::error::{ForeignError, malformed};
use crate::foreign::text::finite;

pub(super) const TOOL: &str = "bonnie++";
/// Phases of the large file in column order, and whether they are in KiB/s. The names are those of the phases of
/// `run bonnie`, except that bonnie++ counts seeks where `run bonnie` counts bytes.
pub(super) const BULK: [(&str, bool); 6] =
    [("put", true), ("write", true), ("rewrite", true), ("get", true), ("read", true), ("seeks", false)];
pub(super) const SMALL: [&str; 6] = ["create", "stat", "delete", "create-random", "stat-random", "delete-random"];
/// What the phases of a run did.
#[derive(Default)]
pub(super) struct Phases {
    metrics: Vec<Figure>,
    too_short: Vec<&'static str>,
}

impl Phases {
    /// `factor` to bytes; `None` of what is counted.
    pub(super) fn rate(&mut self, name: &'static str, text: &str, factor: Option<f64>) {
        if text.starts_with('+') {
            self.too_short.push(name);
        }
        let Some(value) = finite(text).filter(|value| *value > 0.0) else { return };
        self.metrics.push(match factor {
            Some(factor) => Figure::level(format!("{name}.bytes_per_s"), "bytes/s", Better::Higher, value * factor),
            None => Figure::level(format!("{name}.per_s"), "/s", Better::Higher, value),
        });
    }

    pub(super) fn longest(&mut self, name: &str, text: &str) {
        let longest = latency_ns(text);
        self.metrics.extend(longest.map(|ns| Figure::level(format!("{name}.max"), "ns", Better::Lower, ns)));
    }

    pub(super) fn run(self, facts: Vec<Fact>) -> Result<RunFigures, ForeignError> {
        if self.metrics.is_empty() && self.too_short.is_empty() {
            return Err(malformed(TOOL, "its line of comma-separated values has no figure"));
        }
        let mut run = RunFigures { metrics: self.metrics, ..RunFigures::default() };
        if !self.too_short.is_empty() {
            let phases = self.too_short.join(", ");
            run.cautions.push(format!("too short to measure (under 0.5 s): {phases}; use larger files (-s)"));
        }
        run.facts = [Fact::new("workload", "bonnie++")].into_iter().chain(facts).collect();
        Ok(run)
    }
}

/// `4352us`, `12ms`, `3s`.
fn latency_ns(text: &str) -> Option<f64> {
    let (digits, factor) = [("us", 1e3), ("ms", 1e6), ("s", 1e9)]
        .into_iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    Some(finite(digits)? * factor)
}
