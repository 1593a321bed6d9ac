//! The figures of one run, in the form in which runs are compared.

use std::collections::BTreeMap;

use model::damage::Damage;
use model::lost::Lost;
use model::run::Varied;
use model::simulation::Origin;
use statistics::Steadiness;

/// One run: the unit of comparison.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunFigures {
    /// Its name: directory or file.
    pub name: String,
    /// The model that simulated it; `None` for a run on a machine.
    pub simulated: Option<Origin>,
    /// Wall clock at its start, ns since 1970: only used for the order of runs.
    pub started_wall_ns: Option<u64>,
    /// Measured time, ns.
    pub measured_ns: Option<u64>,
    /// Metrics of interest.
    pub metrics: Vec<Figure>,
    /// Metrics that are missing because their values are larger than the tool can count: of them only a lower bound is
    /// known.
    pub censored: Vec<String>,
    /// Kernel counters per unit of work: they explain differences, and neither direction is good.
    pub counters: Vec<Figure>,
    /// Stalls by cause; `None` without a trace. A missing cause took no time.
    pub stalls: Option<Vec<StallFigure>>,
    /// Conditions of the run, the most important first.
    pub facts: Vec<Fact>,
    /// The longest wait of its command or load that had not ended with it, ns: its figures are lower bounds.
    pub unfinished_ns: Option<u64>,
    /// Whether it was in a steady state.
    pub steadiness: Steadiness,
    /// Cautions, one sentence each.
    pub cautions: Vec<String>,
    /// What of the run is damaged or missing.
    pub damage: Vec<Damage>,
    /// What its recording lost.
    pub lost: Vec<Lost>,
}

/// One metric of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// `write.p99`, `work_per_s`.
    pub name: String,
    /// `ns`, `bytes/s`, `/s`, ...
    pub unit: String,
    /// Which direction is better.
    pub better: Better,
    /// The value.
    pub amount: Amount,
}

impl Figure {
    /// A figure with a level.
    pub fn level(name: impl Into<String>, unit: &str, better: Better, value: f64) -> Figure {
        Figure { name: name.into(), unit: unit.to_owned(), better, amount: Amount::Level(value) }
    }
}

/// Which direction of a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Less is better: latencies, stalls.
    Lower,
    /// More is better: rates of work.
    Higher,
    /// Neither is better.
    Neither,
}

/// The value of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// A non-negative quantity: a latency, a rate of work.
    Level(f64),
    /// A count of events, over time or work.
    Count {
        /// Number of events.
        events: f64,
        /// Time or work.
        over: f64,
    },
}

/// Part of a run's time from which on a wait that has not ended is more than an operation in flight: the run hangs.
const HANGS: u64 = 8;

impl RunFigures {
    /// Whether so much of it is a wait that has not ended that no figure of it can be called better.
    pub fn hangs(&self) -> bool {
        let unfinished_ns = self.unfinished_ns.unwrap_or(0);
        unfinished_ns > 0 && self.measured_ns.is_none_or(|measured_ns| unfinished_ns >= measured_ns / HANGS)
    }
}

impl Amount {
    /// The level, or the rate of the events. `None` where it cannot be compared.
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
    /// The cause.
    pub cause: &'static str,
    /// Slow operations for which it is the main cause.
    pub operations: u64,
    /// Time that all slow operations lost to it, ns.
    pub time_ns: u64,
}

/// A condition of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// `kernel`, `mount options of data`, ...
    pub what: String,
    /// As printed.
    pub value: String,
    /// The mount point of a file system that is not under test; `None` for all other conditions.
    pub foreign_mount: Option<String>,
}

impl Fact {
    /// A condition and its value.
    pub fn new(what: &str, value: impl Into<String>) -> Fact {
        Fact { what: what.to_owned(), value: value.into(), foreign_mount: None }
    }
}

/// Repetitions of one configuration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Group {
    /// Name.
    pub name: String,
    /// The settings under test that they share.
    pub settings: BTreeMap<String, String>,
    /// What these settings change, where a sweep recorded it.
    pub varied: Vec<Varied>,
    /// The runs.
    pub runs: Vec<RunFigures>,
}
