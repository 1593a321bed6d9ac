//! Options of commands that record.

use std::path::PathBuf;

use clap::Args;
use model::quantity::{parse_duration, parse_size};
use model::run::Configuration;

use crate::ui::args::OutputArgs;

/// Options common to `run` and `record`.
#[derive(Debug, Args, Clone)]
pub struct RecordingArgs {
    /// The run directory [default: ./stallscope-runs/<UTC time>-<name>, on a file system that is not under test].
    #[arg(long, value_name = "DIR", help_heading = "Recording")]
    pub out: Option<PathBuf>,
    /// Time between samples, at least 100ms.
    #[arg(long, value_name = "T", default_value = "1s", value_parser = sample_interval, help_heading = "Recording")]
    pub interval: u64,
    /// Keep each operation slower than this by itself.
    #[arg(long, value_name = "T", default_value = "1s", value_parser = parse_duration, help_heading = "Recording")]
    pub slower_than: u64,
    /// Record no kernel events, only samples.
    #[arg(long, help_heading = "Recording")]
    pub no_trace: bool,
    /// Block requests to keep one by one: those that are slow or that a task was seen to wait for, or all.
    #[arg(long, value_name = "WHICH", default_value = "slow", help_heading = "Recording", conflicts_with = "no_trace")]
    pub requests: Requests,
    /// Name what is tried here: `compare` takes runs of one name for repetitions of the same.
    #[arg(long, value_name = "NAME", value_parser = configuration, help_heading = "Recording")]
    pub configuration: Option<Configuration>,
    /// Hold the load in a memory box (cgroup) of this size.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Pressure")]
    pub memory: Option<u64>,
    /// Slow the device under the load to this many bytes per second, each way.
    #[arg(long, value_name = "SIZE", value_parser = positive_size, help_heading = "Pressure")]
    pub disk_bps: Option<u64>,
    /// Slow the device under the load to this many operations per second, each way.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Pressure")]
    pub disk_iops: Option<u64>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub output: OutputArgs,
}

/// Which block requests are kept one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Requests {
    /// Slow ones, and those that a task was seen to wait for.
    Slow,
    /// Every one.
    All,
}

fn sample_interval(text: &str) -> Result<u64, String> {
    let ns = parse_duration(text).map_err(|error| error.to_string())?;
    match ns {
        100_000_000..=3_600_000_000_000 => Ok(ns),
        _ => Err(format!("{text}: samples can be taken every 100ms to 1h")),
    }
}

fn positive_size(text: &str) -> Result<u64, String> {
    match parse_size(text) {
        Ok(0) => Err(format!("{text}: a device cannot be slowed to nothing")),
        Ok(size) => Ok(size),
        Err(error) => Err(error.to_string()),
    }
}

/// A configuration from what a command line says: its name, or (as a sweep gives it) all of it as JSON.
pub fn configuration(text: &str) -> Result<Configuration, String> {
    match text.trim() {
        "" => Err("a configuration needs a name".to_owned()),
        json if json.starts_with('{') => serde_json::from_str(json).map_err(|error| error.to_string()),
        name => Ok(Configuration::named(name)),
    }
}
