//! What a model of a kernel policy is, and what a run of it yields.

use crate::liveness::Hang;
use crate::observer::Observer;
use crate::parameter::{Parameter, SettingError, Settings};

/// A simulated kernel mechanism with its alternative policies.
#[derive(Debug, Clone, Copy)]
pub struct Model {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it shows, in one line.
    pub about: &'static str,
    /// The policies; the one with the pathology comes first.
    pub policies: &'static [Policy],
    /// The parameters.
    pub parameters: &'static [Parameter],
    /// Runs it.
    pub run: Run,
}

/// Runs a policy with these settings and this seed, and reports to the observer. Where the settings contradict one
/// another, it fails before it reports anything.
pub type Run =
    fn(policy: &str, settings: &Settings, seed: u64, observer: &mut dyn Observer) -> Result<Outcome, SettingError>;

/// One of the ways in which a kernel can behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Simulated time at the end.
    pub ended_ns: u64,
    /// The hang that ended the run, if one did: nothing would ever have happened again.
    pub hang: Option<Hang>,
    /// Simulated events, as the agenda counts them.
    pub events: u64,
    /// Single numbers: for the screen, for sweeps, for charts over parameters.
    pub figures: Vec<Figure>,
    /// Histograms.
    pub histograms: Vec<Histogram>,
}

/// A number that sums up a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// In snake case, the unit last: `throughput_bytes_per_s`.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// `None`: there was nothing to measure.
    pub value: Option<f64>,
    /// Whether higher is better. `None`: neither.
    pub more_is_better: Option<bool>,
}

/// Counts by size or duration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    /// What is counted by what: `pages per rpc`, `xfs_reclaim_inodes_ag`.
    pub name: &'static str,
    /// The form in which readers know it.
    pub form: Form,
    /// Lowest value of each row, ascending, and its count. In [`Form::RpcStats`], as in Lustre, a row of a power of two
    /// counts the values above half of it, up to it.
    pub rows: Vec<(u64, u64)>,
}

/// The forms of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Lustre's `rpc_stats`: value, count, per cent, cumulative per cent.
    RpcStats,
    /// bcc's `argdist -H`: powers of two, of ns, with bars.
    Argdist,
}
