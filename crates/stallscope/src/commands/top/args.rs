//! Options of `top`.

use std::path::PathBuf;

use clap::Args;
use model::quantity::parse_duration;

use crate::reading::scope::ScopeArgs;
use crate::ui::args::positive_duration;

/// Options of `top`.
#[derive(Debug, Args)]
pub struct TopArgs {
    /// Run directory; a run that is still recording is followed [default: record live, into memory].
    #[arg(value_name = "RUN")]
    pub run: Option<PathBuf>,
    /// Refresh interval.
    #[arg(long, value_name = "T", default_value = "1s", value_parser = refresh_interval)]
    pub interval: u64,
    /// Time window that each refresh covers.
    #[arg(long, value_name = "T", default_value = "10s", value_parser = positive_duration)]
    pub window: u64,
    /// Moment of the run to show first: start, end, or a time since its start.
    #[arg(long, value_name = "WHEN", default_value = "end", value_parser = when, requires = "run")]
    pub at: When,
    /// Show only rows that contain WORD: a task, cgroup, device, cause or file.
    #[arg(long, value_name = "WORD", default_value = "", hide_default_value = true)]
    pub filter: String,
    /// Without RUN: operations and waits of at least T are stalls [default: 100ms].
    // Not `conflicts_with`: clap waives a `requires` whose target conflicts with something given.
    #[arg(long, value_name = "T", value_parser = positive_duration)]
    pub slower_than: Option<u64>,
    /// Print one window as text and exit; without RUN, record for one window first.
    #[arg(long)]
    pub once: bool,
    /// With --once: print a single JSON document to standard output.
    #[arg(long, requires = "once")]
    pub json: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub scope: ScopeArgs,
}

/// A moment of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Its first window.
    Start,
    /// Its end.
    End,
    /// This long after its start, ns.
    After(u64),
}

fn when(text: &str) -> Result<When, String> {
    match text {
        "start" => Ok(When::Start),
        "end" => Ok(When::End),
        other => parse_duration(other).map(When::After).map_err(|error| format!("{error}, or start, or end")),
    }
}

fn refresh_interval(text: &str) -> Result<u64, String> {
    match parse_duration(text) {
        Ok(ns) if ns >= 100_000_000 => Ok(ns),
        Ok(_) => Err(format!("{text}: the refresh interval must be at least 100ms")),
        Err(error) => Err(error.to_string()),
    }
}
