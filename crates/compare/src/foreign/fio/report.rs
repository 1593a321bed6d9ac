//! What a report of fio says, whatever its form.

use std::collections::BTreeMap;

use crate::foreign::error::ForeignError;

/// The tool's name in errors.
pub(super) const TOOL: &str = "fio";

/// What a form of output holds: reports, and cautions about what was not read. `None` of another form.
pub(super) type Found = Option<Result<(Vec<Report>, Vec<String>), ForeignError>>;

/// One report: the final one, or one of `--status-interval`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Report {
    pub(super) version: Option<String>,
    /// Wall clock when it was written, ms since 1970.
    pub(super) at_ms: Option<u64>,
    pub(super) options: BTreeMap<String, String>,
    pub(super) jobs: Vec<Job>,
    /// How many reports of the same run preceded it.
    pub(super) preceded_by: usize,
    /// Whether its rates were rounded to three digits.
    pub(super) is_rounded: bool,
}

/// A job, or the jobs that `--group_reporting` merged.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Job {
    pub(super) name: String,
    /// Groups run one after another (`stonewall`) or are reported apart (`new_group`).
    pub(super) group: u64,
    /// With `--client`.
    pub(super) host: Option<String>,
    pub(super) pid: Option<u64>,
    pub(super) has_error: bool,
    /// s since fio started.
    pub(super) elapsed_s: Option<u64>,
    pub(super) runtime_ms: Option<u64>,
    pub(super) options: BTreeMap<String, String>,
    pub(super) directions: Vec<Direction>,
}

/// Reads, writes, trims, both mixed, or syncs of a job.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Direction {
    /// Its name in metrics.
    pub(super) class: &'static str,
    /// Operations.
    pub(super) total: f64,
    pub(super) per_s: Option<f64>,
    pub(super) bytes_per_s: Option<f64>,
    /// The shortest and the longest, ns.
    pub(super) extremes_ns: Option<(f64, f64)>,
    /// Percent and ns.
    pub(super) percentiles: Vec<(f64, f64)>,
}

/// A printed percentile is the middle of its bucket, which is this share of it wide, or its last digit.
const BUCKET: f64 = 0.02;

impl Direction {
    /// Removes percentiles that cannot all be of this direction: out of order, or beyond its shortest and longest.
    pub(super) fn drop_mixed_percentiles(&mut self, unit_ns: f64) {
        let (shortest, longest) = self.extremes_ns.unwrap_or((f64::INFINITY, 0.0));
        let within =
            |value: f64| value >= shortest * (1.0 - BUCKET) - unit_ns && value <= longest * (1.0 + BUCKET) + unit_ns;
        let is_sound = self.percentiles.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 <= two[1].1)
            && self.percentiles.iter().all(|(_, value)| within(*value));
        if !is_sound {
            self.percentiles.clear();
        }
    }
}

impl Job {
    pub(super) fn total(&self) -> f64 {
        self.directions.iter().map(|direction| direction.total).sum()
    }
}
