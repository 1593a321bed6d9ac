//! Options of `funclat`.

use clap::{Args, ValueEnum};
use model::quantity::parse_duration;

/// Options of `funclat`.
#[derive(Debug, Args)]
pub struct FunclatArgs {
    /// The kernel function, such as vfs_fsync_range.
    #[arg(value_name = "FUNCTION", required_unless_present = "pair", conflicts_with = "pair")]
    pub function: Option<String>,
    /// Time what lies between two tracepoints instead: vmscan:mm_shrink_slab_start..end, or the end's whole name.
    #[arg(long, value_name = "SUBSYS:BEGIN..END")]
    pub pair: Option<String>,
    /// By what means to time a function [default: the best that the kernel allows].
    #[arg(long, value_name = "HOW", conflicts_with = "pair")]
    pub method: Option<How>,
    /// Show a histogram for each such time.
    #[arg(long, value_name = "T", default_value = "1s", value_parser = interval)]
    pub interval: u64,
    /// Stop after so many intervals [default: at Ctrl-C].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Stop after this time [default: at Ctrl-C].
    #[arg(long, value_name = "T", value_parser = parse_duration, conflicts_with = "count")]
    pub runtime: Option<u64>,
    /// Leave out calls that took longer.
    #[arg(long, value_name = "T", value_parser = parse_duration)]
    pub below: Option<u64>,
    /// Leave out calls that took less.
    #[arg(long, value_name = "T", value_parser = parse_duration)]
    pub above: Option<u64>,
    /// A histogram for each thread or cgroup.
    #[arg(long, value_name = "WHAT")]
    pub by: Option<By>,
    /// Only calls of this process.
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pub pid: Option<u32>,
    /// Unit of the histograms.
    #[arg(long, value_name = "UNIT", default_value = "us")]
    pub unit: Unit,
    /// Print one JSON document, and nothing else, to standard output.
    #[arg(long)]
    pub json: bool,
    /// No progress and no remarks.
    #[arg(long, short = 'q')]
    pub quiet: bool,
}

/// What calls are told apart by.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum By {
    /// Thread.
    Task,
    /// Memory cgroup (v1), or cgroup (v2).
    Cgroup,
}

/// Means to time a function.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum How {
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
        _ => Err(format!("{text}: an interval takes 10ms or more")),
    }
}
