//! The one definition of the command line, from which help, manual and completions are made.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use model::quantity::{parse_duration, parse_size};
use model::run::Configuration;

/// Reproduces, records and explains storage stalls.
#[derive(Debug, Parser)]
#[command(name = "stallscope", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

const EXIT_CODES: &str = "Sizes take k, m, g, t (binary); durations take ns, us, ms, s, m, h.\n\n\
Exit codes: 0 done; 1 the run found errors; 2 usage; 3 the machine cannot do it (permission, space, a missing kernel \
feature); 130 interrupted, after a clean stop.";

/// The verbs. `run` is built by [`crate::workload`], because each recipe brings flags of its own, and `simulate` by
/// [`crate::simulate_verb`], because each model does.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Do the main job on a throw-away file system: cause stalls, record them, show them.
    Demo(DemoArgs),
    /// Say what this machine allows, what is missing, and how to get it.
    Doctor(DoctorArgs),
    /// Record the machine while a command runs, or until Ctrl-C.
    Record(RecordArgs),
    /// Show what happened in a run.
    Show(ShowArgs),
    /// Say why the slow operations of a run were slow.
    Explain(ExplainArgs),
    /// Say what a block trace shows: where each bio's time went, and who passed whom.
    Blk(crate::blk::BlkArgs),
    /// Compare runs with runs: what is better, worse, the same, or not known yet.
    Compare(crate::compare::CompareArgs),
    /// Write runs into one file for a browser: causes, charts on one time axis, every stall.
    Report(crate::report_verb::ReportArgs),
    /// Show runs in a browser on this machine: the page of `report`, with any counter, request and stall behind it.
    View(crate::view::ViewArgs),
    /// Show what stalls, live or at any moment of a run, on the terminal.
    Top(crate::top_verb::TopArgs),
    /// Time a kernel function, or what lies between two tracepoints, in histograms.
    Funclat(crate::funclat::FunclatArgs),
    /// Try many configurations of the machine or the load, each often, in an order that favours none.
    Sweep(crate::sweep_verb::SweepArgs),
    /// Write a run in the format of another program.
    Export(crate::export_verb::ExportArgs),
    /// Say whether a run's archive is whole, and what was lost.
    Check(RunDirectory),
    /// List the shipped recipes, or print one.
    Recipes(RecipesArgs),
    /// Write man pages and shell completions into a directory.
    #[command(hide = true)]
    Generate {
        /// Where to; it is created.
        directory: PathBuf,
    },
    /// The load process: started by `run`, never by hand.
    #[command(name = "__load", hide = true, disable_help_flag = true)]
    Load {
        /// Words of the load's own.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Enters cgroups and becomes a command: started by `record`, never by hand.
    #[command(name = "__in-cgroup", hide = true)]
    Boxed {
        /// A cgroup.procs file to enter.
        #[arg(long)]
        cgroup_procs: Vec<PathBuf>,
        /// The command.
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
}

/// Options of `demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Measured time, after a short warm-up.
    #[arg(long, value_name = "T", default_value = "45s", value_parser = parse_duration)]
    pub runtime: u64,
    /// Where the throw-away image and the run directory go [default: a directory with enough space].
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub output: OutputArgs,
}

/// Options of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print one JSON document, and nothing else, to standard output.
    #[arg(long)]
    pub json: bool,
}

/// How results are shown.
#[derive(Debug, Args, Clone)]
pub struct OutputArgs {
    /// Print one JSON document, and nothing else, to standard output.
    #[arg(long)]
    pub json: bool,
    /// No progress and no remarks.
    #[arg(long, short = 'q')]
    pub quiet: bool,
}

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

/// Options of every `run`, whatever the recipe.
#[derive(Debug, Args, Clone)]
pub struct RunArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub recording: RecordingArgs,
    /// Seed of the load's random choices [default: from the clock, and recorded].
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub seed: Option<u64>,
    /// Say what would be done (threads, bytes, memory, space), and stop.
    #[arg(long, help_heading = "Run")]
    pub plan: bool,
    /// Keep the data set; the next run of the same recipe uses it again.
    #[arg(long, help_heading = "Run")]
    pub keep: bool,
    /// Write nothing: read back what a run with --verify, which was killed, had made durable, and judge it. Give the
    /// directories as they were given then. The data stays where it is.
    #[arg(long, help_heading = "Run")]
    pub verify_after_crash: bool,
    /// Go on though space or memory would not do. Never touches data of others.
    #[arg(long, help_heading = "Run")]
    pub force: bool,
    /// Stop as at Ctrl-C when the process that started this one dies: given by `sweep`.
    #[arg(long, hide = true, value_name = "PID")]
    pub with_parent: Option<i32>,
    /// Show the figures as text of our own, or in the form of the program that the workload comes from.
    #[arg(long, value_name = "FORM", default_value = "text", conflicts_with = "json", help_heading = "Run")]
    pub format: Format,
    /// Directories to load, one per file system [default: the current directory].
    #[arg(value_name = "DIR")]
    pub directories: Vec<PathBuf>,
}

/// Options of `record`.
#[derive(Debug, Args)]
pub struct RecordArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub recording: RecordingArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub flight: crate::flight::FlightArgs,
    /// Stop after this time [default: when the command ends, or at Ctrl-C].
    #[arg(long, value_name = "T", value_parser = parse_duration)]
    pub runtime: Option<u64>,
    /// Directory whose device --disk-bps and --disk-iops slow [default: the current directory].
    #[arg(long, value_name = "DIR")]
    pub device_of: Vec<PathBuf>,
    /// The command to run and record, after `--`.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// A run to read.
#[derive(Debug, Args)]
pub struct RunDirectory {
    /// The run directory.
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Print one JSON document, and nothing else, to standard output.
    #[arg(long)]
    pub json: bool,
}

/// Options of `show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub run: RunDirectory,
    /// As text of our own, or in the form of the program that the workload comes from.
    #[arg(long, value_name = "FORM", default_value = "text", conflicts_with = "json")]
    pub format: Format,
}

/// The form of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Our own.
    Text,
    /// That of the program which the workload comes from.
    Native,
}

/// Options of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The run directory.
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Explain operations that took at least so long [default: those that the run kept].
    #[arg(long, value_name = "T", value_parser = parse_duration)]
    pub slower_than: Option<u64>,
    /// Show so many of the worst stalls one by one [default: 5; with --json: all that are kept].
    #[arg(long, value_name = "N")]
    pub worst: Option<usize>,
    /// Print one JSON document, and nothing else, to standard output.
    #[arg(long)]
    pub json: bool,
}

/// Options of `recipes`.
#[derive(Debug, Args)]
pub struct RecipesArgs {
    /// What to do with them [default: list].
    #[command(subcommand)]
    pub action: Option<RecipesAction>,
}

/// What to do with recipes.
#[derive(Debug, Subcommand)]
pub enum RecipesAction {
    /// Print a shipped recipe, to read or to start one's own from.
    Show {
        /// Its name.
        name: String,
    },
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
