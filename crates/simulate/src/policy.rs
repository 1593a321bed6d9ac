//! The models: one file, or folder, for each policy of a kernel.

use crate::liveness::Hang;
use crate::observer::Observer;
use crate::parameter::{Parameter, SettingError, Settings};

/// A policy of a kernel, as something that can be played.
#[derive(Debug, Clone, Copy)]
pub struct Model {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it shows, in a line.
    pub about: &'static str,
    /// What can be chosen between, the one with the pathology first.
    pub policies: &'static [Policy],
    /// What can be set.
    pub parameters: &'static [Parameter],
    /// Plays it.
    pub play: Play,
}

/// Plays a policy with those settings and that seed, and tells of it. Fails before anything is told where the settings
/// contradict one another.
pub type Play =
    fn(policy: &str, settings: &Settings, seed: u64, observer: &mut dyn Observer) -> Result<Outcome, SettingError>;

/// One of the things that a kernel could do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
}

/// How it went.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The last moment.
    pub ended_ns: u64,
    /// Why it did not end as planned: nothing would ever have happened again.
    pub hang: Option<Hang>,
    /// Things that happened, by the agenda's count.
    pub events: u64,
    /// What is worth a number: for the screen, for sweeps, for charts over parameters.
    pub figures: Vec<Figure>,
    /// What is worth a histogram.
    pub histograms: Vec<Histogram>,
}

/// A number that a model's course comes down to.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// In snake case, units last where it has any: `throughput_bytes_per_s`.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// `None`: there was nothing to measure.
    pub value: Option<f64>,
    /// Whether more is better; `None`: neither.
    pub more_is_better: Option<bool>,
}

/// Counts of things by size or duration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    /// What is counted by what: `pages per rpc`, `xfs_reclaim_inodes_ag`.
    pub name: &'static str,
    /// Which form people know it in.
    pub form: Form,
    /// Least value of each row, ascending, and how many. In [`Form::RpcStats`], as in Lustre, a row of powers of two holds
    /// what is more than half of it, up to it.
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
