//! What is known of one run, in the form in which runs are compared.

use std::collections::BTreeMap;

use model::run::Varied;
use model::simulation::Origin;

use statistics::Steadiness;

/// One run: the unit of comparison.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunFigures {
    /// What it is called: its directory or file.
    pub name: String,
    /// The model that made it; `None` of every run on a machine.
    pub simulated: Option<Origin>,
    /// Wall clock at its start, ns since 1970: only for the order in which runs were made.
    pub started_wall_ns: Option<u64>,
    /// Measured time, ns.
    pub measured_ns: Option<u64>,
    /// Metrics that a person cares for.
    pub metrics: Vec<Figure>,
    /// Counters of the kernel per unit of work: they explain, and are neither good nor bad.
    pub counters: Vec<Figure>,
    /// Stalls by cause; `None` where the kernel was not traced. A cause that is not in it took no time.
    pub stalls: Option<Vec<StallFigure>>,
    /// Conditions of the run, in the order of their weight.
    pub facts: Vec<Fact>,
    /// Whether it was in a steady state.
    pub steadiness: Steadiness,
    /// What makes it less sure, in a sentence each.
    pub cautions: Vec<String>,
}

/// One metric of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// `write.p99`, `work_per_s`.
    pub name: String,
    /// `ns`, `bytes/s`, `/s`, ...
    pub unit: String,
    /// Which way is good.
    pub better: Better,
    /// How much.
    pub amount: Amount,
}

/// Which way a metric is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Less is better: latencies, stalls.
    Lower,
    /// More is better: rates of work.
    Higher,
    /// Neither is good by itself.
    Neither,
}

/// The value of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// Something that is above zero by its nature: a latency, a rate of work. Zero is allowed, less is not.
    Level(f64),
    /// How often something happened, and in how much time or work.
    Count {
        /// How often.
        events: f64,
        /// In so much.
        over: f64,
    },
}

impl Amount {
    /// The level, or the rate of the happenings. `None` where it is no number that can be compared.
    pub fn value(self) -> Option<f64> {
        let value = match self {
            Amount::Level(level) => level,
            Amount::Count { events, over } if over > 0.0 => events / over,
            Amount::Count { .. } => return None,
        };
        (value.is_finite() && value >= 0.0).then_some(value)
    }
}

/// Stalls of one cause in one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StallFigure {
    /// Which.
    pub cause: &'static str,
    /// Slow operations of which it took the largest part.
    pub operations: u64,
    /// Time that all slow operations lost to it, ns.
    pub time_ns: u64,
}

/// A condition of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// `kernel`, `mount options of data`, ...
    pub what: String,
    /// As it is shown.
    pub value: String,
}

/// Runs that are alike by intention.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Group {
    /// What they are called.
    pub name: String,
    /// The settings under test that they have in common.
    pub settings: BTreeMap<String, String>,
    /// What these settings change, where a sweep has noted it.
    pub varied: Vec<Varied>,
    /// The runs.
    pub runs: Vec<RunFigures>,
}
