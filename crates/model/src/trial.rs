//! A trial of a change on live load: its plan and its periods, as the journal holds them.

use serde::{Deserialize, Serialize};

/// The plan of a trial.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialPlan {
    /// What is changed.
    pub changes: Vec<TrialChange>,
    /// Length of a period with its wash-out, ns.
    pub period_ns: u64,
    /// Time after each switch that is excluded, ns.
    pub wash_out_ns: u64,
    /// Time of A before the first period, ns: a command starts in it, and guards see what is usual.
    #[serde(default)]
    pub lead_in_ns: u64,
    /// Planned periods.
    pub periods: u32,
    /// Seed of their order.
    pub seed: u64,
    /// Only slow operations of the command and its children count; else those of all tasks.
    #[serde(default)]
    pub of_command: bool,
    /// Kernel name of the device whose throughput counts; `None`: the busiest.
    pub device: Option<String>,
}

/// Something that a trial changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialChange {
    /// A setting's file, with the device of its line, or a command.
    pub what: String,
    /// The value as found; `None` of a command.
    pub found: Option<String>,
    /// The value that is tried; of a command the one that reverts it.
    pub tried: String,
}

/// A period of a trial that ran to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialPeriod {
    /// Its position, from 0.
    pub ordinal: u32,
    /// Which block.
    pub block: u32,
    /// Whether it had the change (B), or everything was as found (A).
    pub changed: bool,
    /// When the switch was complete, on the monotonic clock.
    pub began_ns: u64,
    /// End of the wash-out: what came before is excluded.
    pub counted_from_ns: u64,
    /// Its end.
    pub ended_ns: u64,
}

impl TrialPeriod {
    /// `A` or `B`.
    pub fn side(&self) -> &'static str {
        if self.changed { "B" } else { "A" }
    }
}
