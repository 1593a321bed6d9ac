//! Options of `top`.

use std::path::PathBuf;

use clap::Args;
use model::quantity::parse_duration;

/// Options of `top`.
#[derive(Debug, Args)]
pub struct TopArgs {
    /// The run directory; one that is still being written is followed [default: record live, into memory].
    #[arg(value_name = "RUN")]
    pub run: Option<PathBuf>,
    /// Time between two looks.
    #[arg(long, value_name = "T", default_value = "1s", value_parser = look_interval)]
    pub interval: u64,
    /// The time that a look tells of: so long before its moment.
    #[arg(long, value_name = "T", default_value = "10s", value_parser = parse_duration)]
    pub window: u64,
    /// Moment of a run to begin at: start, end, or the time since its start.
    #[arg(long, value_name = "WHEN", default_value = "end", value_parser = when, requires = "run")]
    pub at: When,
    /// Show only rows that hold this: a task, cgroup, device, cause or file.
    #[arg(long, value_name = "WORD", default_value = "", hide_default_value = true)]
    pub filter: String,
    /// Without RUN: operations and waits that take so long are stalls [default: 100ms].
    #[arg(long, value_name = "T", value_parser = parse_duration, conflicts_with = "run")]
    pub slower_than: Option<u64>,
    /// Print one look as text, and stop; without RUN, after having recorded for the window.
    #[arg(long)]
    pub once: bool,
    /// With --once: print one JSON document, and nothing else, to standard output.
    #[arg(long, requires = "once")]
    pub json: bool,
}

/// A moment of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Its first window.
    Start,
    /// Its end.
    End,
    /// So long after its begin, ns.
    After(u64),
}

fn when(text: &str) -> Result<When, String> {
    match text {
        "start" => Ok(When::Start),
        "end" => Ok(When::End),
        other => parse_duration(other).map(When::After).map_err(|error| format!("{error}, or start, or end")),
    }
}

fn look_interval(text: &str) -> Result<u64, String> {
    match parse_duration(text) {
        Ok(ns) if ns >= 100_000_000 => Ok(ns),
        Ok(_) => Err(format!("{text}: no more than ten looks a second")),
        Err(error) => Err(error.to_string()),
    }
}
