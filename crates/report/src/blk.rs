//! Block traces: the findings of [`lifecycle`] as text, JSON, btt's tables, and CSV series.

pub mod btt;
pub mod csv;
pub mod json;
mod others;
mod slow;
pub mod text;

use lifecycle::{BlockReport, DeviceTables, Histogram, OTHER_PROCESSES, Phase};
use model::block::{Action, ProcessNames};

/// The analysis of a trace.
#[derive(Debug)]
pub struct BlkFindings<'a> {
    /// Findings of the lifecycle.
    pub report: &'a BlockReport,
    /// Names of threads.
    pub names: &'a ProcessNames,
    /// Statistics of reading the trace.
    pub reading: Reading,
    /// Threshold of slow bios.
    pub slower_than_ns: u64,
}

/// Statistics of reading a trace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// Files and streams, as named.
    pub inputs: Vec<String>,
    /// Events read.
    pub events: u64,
    /// Bytes read, after decompression.
    pub bytes: u64,
    /// Gaps in the sequence numbers.
    pub gaps: u64,
    /// Events lost in them.
    pub lost_events: u64,
    /// Events missing before the first one of a CPU.
    pub missing_at_start: u64,
    /// Losses found late: bios that completed before were counted as if nothing had been lost.
    pub noticed_late: u64,
    /// Kinds of damage, including gaps: name, count, sum of the amounts.
    pub damage: Vec<(&'static str, u64, u64)>,
    /// Positions of the first ones: kind, input, byte offset, amount.
    pub positions: Vec<(&'static str, usize, u64, u64)>,
}

/// Events of a bio's life, without which phases are unknown.
const LIFE: [Action; 4] = [Action::Queue, Action::GetRequest, Action::Issue, Action::Complete];

impl BlkFindings<'_> {
    /// How many events of an action the trace has.
    fn count_of(&self, action: Action) -> u64 {
        self.report.devices.iter().map(|device| device.tables.actions[action as usize]).sum()
    }

    /// Letters of the events of a bio's life that the trace lacks, while it has others. A device without requests has
    /// only Q and C.
    fn missing_events(&self) -> Vec<&'static str> {
        let has = |action: &Action| self.count_of(*action) > 0;
        let has_requests = [Action::GetRequest, Action::Insert, Action::Issue].iter().any(has);
        let is_whole = has(&Action::Queue) && has(&Action::Complete) && !has_requests;
        if is_whole || !LIFE.iter().any(has) {
            return Vec::new();
        }
        LIFE.iter().filter(|action| !has(action)).map(|action| action.letters()).collect()
    }

    /// Whether remaps are taken for queue events, which the trace lacks.
    fn remaps_stand_for_queueing(&self) -> bool {
        self.count_of(Action::Queue) == 0 && self.count_of(Action::Remap) > 0
    }

    /// `name/pid`, or `pid N` without a name.
    fn thread(&self, pid: u32) -> String {
        match (pid, self.name(pid)) {
            (OTHER_PROCESSES, others) => others.to_owned(),
            (pid, "") => format!("pid {pid}"),
            (pid, name) => format!("{}/{pid}", crate::style::printable(name)),
        }
    }

    /// A thread's name, or an empty string if the trace lacks it.
    fn name(&self, pid: u32) -> &str {
        match pid {
            OTHER_PROCESSES => "(others)",
            pid => self.names.get(pid).unwrap_or(""),
        }
    }
}

/// Bios per request: 1 means no merges. `None` if no request was issued.
fn merge_ratio(tables: &DeviceTables) -> Option<f64> {
    (tables.requests > 0).then(|| tables.bios as f64 / tables.requests as f64)
}

/// The phases' shares of all bios' time, in the order of [`Phase::PARTS`], and the share that cannot be attributed;
/// they sum to 1. `None` without completed bios.
fn overhead<'a>(devices: impl Iterator<Item = &'a DeviceTables> + Clone) -> Option<(Vec<(Phase, f64)>, f64)> {
    let total: u128 = devices.clone().map(|tables| tables.overhead_ns[Phase::Q2C]).sum();
    if total == 0 {
        return None;
    }
    let share = |time_ns: u128| time_ns as f64 / total as f64;
    let parts = Phase::PARTS.iter().map(|&part| {
        let sum: u128 = devices.clone().map(|tables| tables.overhead_ns[part]).sum();
        (part, share(sum))
    });
    Some((parts.collect(), share(devices.clone().map(|tables| tables.undivided_ns).sum())))
}

/// Percentiles in tables.
const QUANTILES: [(&str, f64); 4] = [("p50_ns", 0.50), ("p90_ns", 0.90), ("p99_ns", 0.99), ("p999_ns", 0.999)];

/// Adds up histograms of several devices.
fn merged<'a>(histograms: impl Iterator<Item = &'a Histogram>) -> Histogram {
    let mut sum = Histogram::default();
    histograms.for_each(|histogram| sum.merge(histogram));
    sum
}

#[cfg(test)]
mod tests;
