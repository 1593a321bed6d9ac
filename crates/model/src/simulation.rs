//! A simulated run: none of it was measured on a machine.

use serde::{Deserialize, Serialize};

/// What was simulated, as known at the begin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Simulation {
    /// The model's name: `osc`.
    pub model: String,
    /// The policy: one of the kernel behaviours that the model has.
    pub policy: String,
    /// What the policy does, in a line.
    #[serde(default)]
    pub about: String,
    /// Each parameter that is a number, in base units (bytes, ns, plain numbers), in the order of the model's table.
    pub parameters: Vec<(String, f64)>,
    /// Each parameter whose values are words.
    #[serde(default)]
    pub words: Vec<(String, String)>,
}

/// The model of a simulated run: shown wherever the run is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The model.
    pub model: String,
    /// The policy.
    pub policy: String,
    /// The seed.
    pub seed: Option<u64>,
}

/// How a simulation went, beyond its rows; known at its end.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Course {
    /// The last moment.
    pub ended_ns: u64,
    /// Events simulated.
    pub events: u64,
    /// A deadlock: no event was left, though tasks waited.
    pub hang: Option<Hang>,
    /// The figures that summarize it.
    pub figures: Vec<Figure>,
    /// Things counted by size or duration.
    pub histograms: Vec<Histogram>,
}

/// Tasks that wait for one another forever.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hang {
    /// When the last event happened.
    pub at_ns: u64,
    /// The waiting tasks.
    pub waiters: Vec<Waiter>,
}

/// A waiting task in a hang.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiter {
    /// The task.
    pub task: String,
    /// For what.
    pub awaits: String,
    /// The tasks that could provide it; empty if none can.
    pub from: Vec<String>,
    /// Since when.
    pub since_ns: u64,
}

/// A figure that summarizes a simulation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// In snake case, units last.
    pub name: String,
    /// What it is, in a line.
    pub about: String,
    /// `None`: not measured.
    pub value: Option<f64>,
    /// Whether more is better; `None`: neither.
    pub more_is_better: Option<bool>,
}

impl Figure {
    /// Its unit, as its name says it: `ns`, `s`, `bytes`, `bytes/s`, `/s`, `share`; empty for a plain number.
    pub fn unit(&self) -> &'static str {
        const ENDINGS: [(&str, &str); 6] = [
            ("bytes_per_s", "bytes/s"),
            ("_per_s", "/s"),
            ("_ns", "ns"),
            ("_s", "s"),
            ("bytes", "bytes"),
            ("share", "share"),
        ];
        ENDINGS.iter().find(|(ending, _)| self.name.ends_with(ending)).map_or("", |(_, unit)| unit)
    }
}

/// Counts of things by size or duration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// What is counted by what.
    pub name: String,
    /// Its usual form.
    pub form: HistogramForm,
    /// Minimum of each row, ascending, and its count.
    pub rows: Vec<(u64, u64)>,
}

/// The forms of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HistogramForm {
    /// Lustre's `rpc_stats`: value, count, per cent, cumulative per cent.
    RpcStats,
    /// bcc's `argdist -H`: powers of two, of ns, with bars.
    Argdist,
}
