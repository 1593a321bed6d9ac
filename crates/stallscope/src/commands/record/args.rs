//! Options of `record`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use crate::reading::scope::ScopeArgs;
use crate::recording::args::RecordingArgs;
use crate::recording::flight::args::FlightArgs;
use crate::recording::output_metric::OutputMetric;
use crate::ui::args::positive_duration;

const STREAMS: &str = "--device, --cgroup, --comm, --pid and --path limit only the explanation at the end: the \
                       whole machine is recorded, \
neighbours included, and 'stallscope explain RUN' accepts any other scope later.\n\nThe COMMAND keeps its standard \
output: the summary goes to standard error, and with \
-q nothing is printed but warnings. With --json the document goes to standard output, and the command's output to \
standard error.\n\n\
Exit code: the COMMAND's, 128 + N if signal N killed it. If the command succeeds or --runtime ends it: 0, 1 (the \
recording lost data) or 3, as 'stallscope help' lists them. 2 and 3 before the command has started; 130 if \
interrupted.";

/// Options of `record`.
#[derive(Debug, Args)]
#[command(after_help = STREAMS)]
pub struct RecordArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub recording: RecordingArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub flight: FlightArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub scope: ScopeArgs,
    /// Stop after this time, and end the COMMAND if it still runs [default: when the command ends, or at Ctrl-C].
    #[arg(long, value_name = "T", value_parser = positive_duration, help_heading = "Recording")]
    pub runtime: Option<u64>,
    /// Directory whose device --disk-bps and --disk-iops throttle [default: the current directory].
    #[arg(long, value_name = "DIR", help_heading = "Limits")]
    pub device_of: Vec<PathBuf>,
    /// Extract a metric from the command's output, for `show` and `compare`: NAME=REGEX, whose first group is the
    /// number; the last match counts. Example: 'tps=tps = ([\d.]+)'. The command's output passes through a pipe. May be
    /// repeated.
    #[arg(long, value_name = "NAME=REGEX", requires = "command", help_heading = "Recording")]
    pub metric: Vec<OutputMetric>,
    /// Command to run and record, after `--`. It keeps its standard output; its exit code is passed on.
    #[arg(last = true, value_name = "COMMAND", help_heading = "Arguments")]
    pub command: Vec<OsString>,
}
