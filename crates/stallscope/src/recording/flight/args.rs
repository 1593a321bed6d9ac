//! Options of the flight recorder.

use std::ffi::OsString;

use clap::Args;
use condition::Condition;
use model::quantity::{parse_duration, parse_size};

const SECOND_NS: u64 = 1_000_000_000;
const LEAST_RING_NS: u64 = 10 * SECOND_NS;
const LEAST_RING_BYTES: u64 = 16 << 20;

/// `record --ring`: keep the last minutes, for as long as it runs, and a run of its own of each stall.
#[derive(Debug, Args, Clone)]
#[command(next_help_heading = "Flight recorder")]
pub struct FlightArgs {
    /// Keep only the last T, for as long as it runs; see --on-stall. --out names the directory of the ring and of what is
    /// kept [default: ./stallscope-runs/flight].
    #[arg(
        long, value_name = "T", value_parser = ring_time,
        conflicts_with_all = ["memory", "disk_bps", "disk_iops", "device_of", "command"]
    )]
    pub ring: Option<u64>,
    /// Disk space of the ring. Where it is too small for the time, the ring holds less.
    #[arg(long, value_name = "SIZE", default_value = "512m", value_parser = ring_size, requires = "ring")]
    pub ring_size: u64,
    /// Keep the ring as a run when this happens: `5s` (an operation or a blocked task that slow), `psi:io>40%`,
    /// `counter:NAME>N/s`. May be given several times. The signal SIGUSR1 keeps it in any case.
    #[arg(long, value_name = "CONDITION", requires = "ring")]
    pub on_stall: Vec<Condition>,
    /// Start this program for each kept run. The run's directory is its only argument, and in STALLSCOPE_RUN; why it was
    /// kept is in STALLSCOPE_REASON.
    #[arg(long, value_name = "PROGRAM", requires = "ring")]
    pub on_stall_exec: Option<OsString>,
    /// Keep so much of what follows, too.
    #[arg(long, value_name = "T", default_value = "30s", value_parser = parse_duration, requires = "ring")]
    pub keep_after: u64,
    /// Least time between two stalls that are kept. SIGUSR1 need not wait.
    #[arg(long, value_name = "T", default_value = "10m", value_parser = parse_duration, requires = "ring")]
    pub keep_every: u64,
    /// Keep no more when all kept runs together would take more. None is ever deleted.
    #[arg(long, value_name = "SIZE", default_value = "2g", value_parser = parse_size, requires = "ring")]
    pub keep_size: u64,
    /// Keep the ring as a run at the end, too.
    #[arg(long, requires = "ring")]
    pub keep_last: bool,
}

fn ring_time(text: &str) -> Result<u64, String> {
    let ns = parse_duration(text).map_err(|error| error.to_string())?;
    if ns < LEAST_RING_NS {
        return Err(format!("{text}: a ring holds at least 10s"));
    }
    Ok(ns)
}

fn ring_size(text: &str) -> Result<u64, String> {
    let bytes = parse_size(text).map_err(|error| error.to_string())?;
    if bytes < LEAST_RING_BYTES {
        return Err(format!("{text}: a ring takes at least 16m"));
    }
    Ok(bytes)
}
