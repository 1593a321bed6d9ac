//! Options of `funclat`.

use clap::{Args, ValueEnum};
use model::quantity::parse_duration;

/// Options of `funclat`.
#[derive(Debug, Args)]
pub struct FunclatArgs {
    /// Kernel function, such as vfs_fsync_range.
    #[arg(value_name = "FUNCTION", required_unless_present = "pair", conflicts_with = "pair")]
    pub function: Option<String>,
    /// Time the interval between two tracepoints: vmscan:mm_shrink_slab_start..end, or the end's full name.
    #[arg(long, value_name = "SUBSYS:BEGIN..END")]
    pub pair: Option<String>,
    /// How to attach to the function [default: the best method that the kernel supports].
    #[arg(long, value_name = "METHOD", conflicts_with = "pair")]
    pub method: Option<AttachMethod>,
    /// Print a histogram every T.
    #[arg(long, value_name = "T", default_value = "1s", value_parser = interval)]
    pub interval: u64,
    /// Stop after N intervals [default: on Ctrl-C].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Stop after T [default: on Ctrl-C].
    #[arg(long, value_name = "T", value_parser = parse_duration, conflicts_with = "count")]
    pub runtime: Option<u64>,
    /// Ignore calls longer than T.
    #[arg(long, value_name = "T", value_parser = parse_duration)]
    pub below: Option<u64>,
    /// Ignore calls shorter than T.
    #[arg(long, value_name = "T", value_parser = parse_duration)]
    pub above: Option<u64>,
    /// Print one histogram per thread or cgroup.
    #[arg(long, value_name = "WHAT")]
    pub by: Option<By>,
    /// Time calls of this process only.
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pub pid: Option<u32>,
    /// Unit of the histograms.
    #[arg(long, value_name = "UNIT", default_value = "us")]
    pub unit: Unit,
    /// Print a single JSON document to standard output.
    #[arg(long)]
    pub json: bool,
    /// Suppress progress and notes.
    #[arg(long, short = 'q')]
    pub quiet: bool,
}

/// What calls are grouped by.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum By {
    /// Thread.
    Task,
    /// Memory cgroup (v1), or cgroup (v2).
    Cgroup,
}

/// Methods to time a function.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum AttachMethod {
    /// fentry and fexit.
    Fexit,
    /// kprobe and kretprobe.
    Kprobe,
}

/// Units of a histogram.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
}

fn interval(text: &str) -> Result<u64, String> {
    let ns = parse_duration(text).map_err(|error| error.to_string())?;
    match ns {
        10_000_000.. => Ok(ns),
        _ => Err(format!("{text}: the interval must be at least 10ms")),
    }
}
