//! Options of `trial`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use model::quantity::parse_duration;
use trial::Guard;

use crate::recording::args::RecordingArgs;
use crate::recording::output_metric::OutputMetric;
use crate::ui::args::positive_duration;

const CODES: &str = "Exit codes: 0 the trial ran as planned, whatever it found; 1 it ended early (a guard, the command \
                     ended, another \
program changed a setting) or something could not be restored; 2 and 3 as 'stallscope help' lists them, before \
anything is \
changed; 130 interrupted. Every exit restores the settings; after kill -9 a watchdog process restores them within 2 s.";

/// Options of `trial`.
#[derive(Debug, Clone, Args)]
#[command(after_help = CODES)]
pub struct TrialArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub recording: RecordingArgs,
    /// Setting to test: a file below /sys or /proc/sys, or the name of a sysctl. In a file with a line for each device
    /// the value begins with the device: '/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device=8:0 1048576'. May be
    /// repeated.
    #[arg(long, value_name = "FILE=VALUE", value_parser = setting, help_heading = "Trial")]
    pub set: Vec<(String, String)>,
    /// Command that applies a change. --revert undoes it, and must succeed even if nothing was applied. sh runs them at
    /// each switch, for at most 30 s.
    #[arg(long, value_name = "CMD", requires = "revert", help_heading = "Trial")]
    pub apply: Option<String>,
    /// Command that reverts --apply.
    #[arg(long, value_name = "CMD", requires = "apply", help_heading = "Trial")]
    pub revert: Option<String>,
    /// Test the first remedies of `explain --what-if RUN` that can be applied live, one after another, and show the
    /// predicted beside the measured effect. The run must have been recorded since the last boot.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["set", "apply"], help_heading = "Trial")]
    pub from: Option<PathBuf>,
    /// Number of remedies to test with --from.
    #[arg(long, value_name = "N", default_value_t = 2, requires = "from", help_heading = "Trial")]
    pub first: usize,
    /// Length of a period, including its wash-out.
    #[arg(long, value_name = "T", default_value = "10s", value_parser = positive_duration, help_heading = "Trial")]
    pub period: u64,
    /// Time excluded after each switch.
    #[arg(long, value_name = "T", default_value = "2s", value_parser = parse_duration, help_heading = "Trial")]
    pub wash_out: u64,
    /// Number of periods, in blocks of four (ABBA or BAAB at random) [default: 40; at least 24 for a verdict].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(4..=100_000), help_heading = "Trial")]
    pub periods: Option<u32>,
    /// Length of the trial, instead of --periods: as many blocks as fit.
    #[arg(long = "for", value_name = "T", value_parser = positive_duration, conflicts_with = "periods", help_heading = "Trial")]
    pub lasting: Option<u64>,
    /// Revert and end when this condition holds: psi:io>60%, counter:NAME>N/s (both over 2 s), 5s (a stall), or p99>2x
    /// (p50, p99 or max of slow operations, as a multiple of that without the change). May be repeated.
    #[arg(long, value_name = "CONDITION", help_heading = "Trial")]
    pub guard: Vec<Guard>,
    /// Count the slow operations of all tasks [default: with a COMMAND those of the command and its children].
    #[arg(long, help_heading = "Trial")]
    pub all_tasks: bool,
    /// Device whose throughput is compared [default: that of a --set, else the busiest].
    #[arg(long, value_name = "NAME", help_heading = "Trial")]
    pub device: Option<String>,
    /// Ignore differences up to this fraction.
    #[arg(long, value_name = "FRACTION", default_value_t = compare::MARGIN, value_parser = margin)]
    #[arg(help_heading = "Trial")]
    pub margin: f64,
    /// Seed of the order [default: random].
    #[arg(long, value_name = "N", help_heading = "Trial")]
    pub seed: Option<u64>,
    /// Print the plan and exit; change nothing.
    #[arg(long, conflicts_with_all = ["group", "mode"], help_heading = "Trial")]
    pub dry_run: bool,
    /// Extract a metric from each line of the command's output: NAME=REGEX, whose first group is the number. Its mean
    /// over each period is compared. May be repeated.
    #[arg(long, value_name = "NAME=REGEX", requires = "command", help_heading = "Trial")]
    pub metric: Vec<OutputMetric>,
    /// Command to run, after `--` [default: record the running load]. It is terminated after the last period.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (file, value) = text.split_once('=').ok_or("expected FILE=VALUE, such as vm.dirty_bytes=67108864")?;
    match file.trim() {
        "" => Err("expected FILE=VALUE, such as vm.dirty_bytes=67108864".to_owned()),
        file => Ok((file.to_owned(), value.trim().to_owned())),
    }
}

fn margin(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share: &f64| *share > 0.0 && *share < 1.0);
    share.ok_or_else(|| "expected a fraction above 0 and below 1, such as 0.05".to_owned())
}
