//! Options of the flight recorder.

use std::ffi::OsString;

use clap::Args;
use condition::Condition;
use model::quantity::{parse_duration, parse_size};

const SECOND_NS: u64 = 1_000_000_000;
const MIN_RING_NS: u64 = 10 * SECOND_NS;
const MIN_RING_BYTES: u64 = 16 << 20;

/// `record --ring`: keep the last minutes in a ring and save each stall as a run.
#[derive(Debug, Args, Clone)]
#[command(next_help_heading = "Flight recorder")]
pub struct FlightArgs {
    /// Keep only the last T in a ring buffer; see --on-stall. --out names the directory of the ring and the saved runs
    /// [default: ./stallscope-runs/flight].
    // Not `conflicts_with`: clap waives a `requires` whose target conflicts with something given, and the flags below
    // would be accepted without a ring.
    #[arg(long, value_name = "T", value_parser = ring_time)]
    pub ring: Option<u64>,
    /// Maximum disk space of the ring. If it is too small for T, the ring covers less time.
    #[arg(long, value_name = "SIZE", default_value = "512m", value_parser = ring_size, requires = "ring")]
    pub ring_size: u64,
    /// Save the ring as a run on this condition: `5s` (an operation this slow or a task blocked this long),
    /// `psi:io>40%`, `counter:NAME>N/s`. May be repeated. SIGUSR1 always saves the ring.
    #[arg(long, value_name = "CONDITION", requires = "ring")]
    pub on_stall: Vec<Condition>,
    /// Run PROGRAM for each saved run. Its only argument is the run directory; its environment has STALLSCOPE_RUN (the
    /// same directory), STALLSCOPE_REASON, PATH and LANG.
    #[arg(long, value_name = "PROGRAM", requires = "ring")]
    pub on_stall_exec: Option<OsString>,
    /// Time to keep recording after a stall before it is saved.
    #[arg(long, value_name = "T", default_value = "30s", value_parser = parse_duration, requires = "ring")]
    pub keep_after: u64,
    /// Minimum interval between saved stalls (SIGUSR1 ignores it).
    #[arg(long, value_name = "T", default_value = "10m", value_parser = parse_duration, requires = "ring")]
    pub keep_every: u64,
    /// Maximum total size of saved runs. Saved runs are never deleted; once the limit is reached, no more are saved.
    #[arg(long, value_name = "SIZE", default_value = "2g", value_parser = parse_size, requires = "ring")]
    pub keep_size: u64,
    /// Also save the ring as a run at exit.
    #[arg(long, requires = "ring")]
    pub keep_last: bool,
}

fn ring_time(text: &str) -> Result<u64, String> {
    let ns = parse_duration(text).map_err(|error| error.to_string())?;
    if ns < MIN_RING_NS {
        return Err(format!("{text}: a ring holds at least 10s"));
    }
    Ok(ns)
}

fn ring_size(text: &str) -> Result<u64, String> {
    let bytes = parse_size(text).map_err(|error| error.to_string())?;
    if bytes < MIN_RING_BYTES {
        return Err(format!("{text}: a ring needs at least 16m"));
    }
    Ok(bytes)
}
