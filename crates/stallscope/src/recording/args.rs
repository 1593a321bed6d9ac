//! Options of commands that record.

use std::path::PathBuf;

use clap::Args;
use model::quantity::{parse_duration, parse_size};
use model::run::Configuration;
use record::{Followed, Roots};

use crate::recording::sharing::SharingArgs;
use crate::ui::args::{OutputArgs, positive_duration};

/// Options common to `run` and `record`.
#[derive(Debug, Args, Clone)]
pub struct RecordingArgs {
    /// Run directory [default: ./stallscope-runs/<UTC time>-<name>, on a file system that is not under test].
    #[arg(long, value_name = "DIR", help_heading = "Recording")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub sharing: SharingArgs,
    /// Sampling interval, at least 100ms.
    #[arg(long, value_name = "T", default_value = "1s", value_parser = sample_interval, help_heading = "Recording")]
    pub interval: u64,
    /// Record operations slower than T individually.
    #[arg(long, value_name = "T", default_value = "1s", value_parser = positive_duration, help_heading = "Recording")]
    pub slower_than: u64,
    /// Do not trace the kernel; record samples only.
    #[arg(long, help_heading = "Recording")]
    pub no_trace: bool,
    /// Block requests to record individually: slow ones and those that a task waited for, or all.
    #[arg(long, value_name = "WHICH", default_value = "slow", help_heading = "Recording", conflicts_with = "no_trace")]
    pub requests: Requests,
    /// Record every wait of a process, a thread name or a cgroup, and of their children, as if they were the recorded
    /// command.
    ///
    /// A number is a PID; a value starting with / is a cgroup. May be repeated.
    #[arg(long, value_name = "PID|COMM|CGROUP", value_parser = followed, help_heading = "Recording")]
    #[arg(conflicts_with = "no_trace")]
    pub follow: Vec<Followed>,
    /// Record the user stacks of waits and of lock releases: functions and source lines.
    #[arg(long, help_heading = "Recording", conflicts_with = "no_trace")]
    pub user_stacks: bool,
    /// Configuration label; runs with the same label are repetitions.
    #[arg(long, value_name = "NAME", value_parser = configuration, help_heading = "Recording")]
    pub configuration: Option<Configuration>,
    /// Limit the load to SIZE of memory (memory cgroup).
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Limits")]
    pub memory: Option<u64>,
    /// Throttle the device under the load to SIZE bytes per second, reads and writes separately.
    #[arg(long, value_name = "SIZE", value_parser = positive_size, help_heading = "Limits")]
    pub disk_bps: Option<u64>,
    /// Throttle the device under the load to N operations per second, reads and writes separately.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Limits")]
    pub disk_iops: Option<u64>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub output: OutputArgs,
}

/// Which block requests are recorded individually.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Requests {
    /// Slow requests, and those that a task waited for.
    Slow,
    /// Every request.
    All,
}

fn sample_interval(text: &str) -> Result<u64, String> {
    let ns = parse_duration(text).map_err(|error| error.to_string())?;
    match ns {
        100_000_000..=3_600_000_000_000 => Ok(ns),
        _ => Err(format!("{text}: the sampling interval must be 100ms to 1h")),
    }
}

fn positive_size(text: &str) -> Result<u64, String> {
    match parse_size(text) {
        Ok(0) => Err(format!("{text}: the limit must be greater than 0")),
        Ok(size) => Ok(size),
        Err(error) => Err(error.to_string()),
    }
}

/// Parses a configuration: its label, or (as `sweep` passes it) the whole as JSON.
pub fn configuration(text: &str) -> Result<Configuration, String> {
    match text.trim() {
        "" => Err("a configuration needs a label".to_owned()),
        json if json.starts_with('{') => serde_json::from_str(json).map_err(|error| error.to_string()),
        name => Ok(Configuration::named(name)),
    }
}

/// A process that does not exist would be followed in vain.
fn followed(text: &str) -> Result<Followed, String> {
    let followed: Followed = text.parse().unwrap_or_else(|never| match never {});
    followed.refused(&Roots::default().proc).map_or(Ok(followed), Err)
}
