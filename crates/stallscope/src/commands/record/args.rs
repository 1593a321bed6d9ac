//! Options of `record`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use model::quantity::parse_duration;

use crate::recording::args::RecordingArgs;
use crate::recording::flight::args::FlightArgs;

/// Options of `record`.
#[derive(Debug, Args)]
pub struct RecordArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub recording: RecordingArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub flight: FlightArgs,
    /// Stop after this time [default: when the command ends, or at Ctrl-C].
    #[arg(long, value_name = "T", value_parser = parse_duration)]
    pub runtime: Option<u64>,
    /// Directory whose device --disk-bps and --disk-iops throttle [default: the current directory].
    #[arg(long, value_name = "DIR")]
    pub device_of: Vec<PathBuf>,
    /// Command to run and record, after `--`.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}
