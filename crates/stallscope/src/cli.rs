//! The one definition of the command line, from which help, manual and completions are made.

pub mod hints;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{CommandFactory, Parser, Subcommand};

use crate::commands::run::workload::{self, Offer};
use crate::commands::{
    anonymize, blk, compare, demo, doctor, explain, export, fleet, funclat, hung, import, lake, recipes, record,
    report, show,
};
use crate::commands::{simulate, sweep, top, trial, view};
use crate::reading::args::RunArgs;

/// Reproduces, records and explains storage stalls.
#[derive(Debug, Parser)]
#[command(name = "stallscope", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "Sizes take k, m, g, t (binary); durations take ns, us, ms, s, m, h.\n\n\
Exit codes: 0 success; 1 the run found errors, or is damaged or incomplete; 2 usage: the command line, or a path or \
file that it names, is wrong; 3 the \
machine cannot do it (permission, space, I/O error, a missing kernel feature); 130 interrupted, after a clean stop. \
'record -- COMMAND' exits with the command's code, unless that is 0.";

/// The commands with fixed flags. `run` and `simulate` are built at run time: each recipe and each model adds flags.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run an end-to-end demo on a temporary file system.
    Demo(demo::DemoArgs),
    /// Report what this machine supports, what is missing, and how to get it.
    Doctor(doctor::DoctorArgs),
    /// Record the machine while a command runs, or until Ctrl-C.
    Record(record::args::RecordArgs),
    /// Summarize a run.
    Show(show::ShowArgs),
    /// Explain why the slow operations of a run were slow.
    Explain(explain::ExplainArgs),
    /// Analyze a block trace: per-bio phase times and overtaking.
    Blk(blk::BlkArgs),
    /// Analyze a dump of blocked tasks (dmesg, SysRq, /proc/PID/stack, crash): who waits for what.
    Hung(hung::HungArgs),
    /// Compare groups of runs: better, worse, unchanged, or not enough data.
    Compare(compare::CompareArgs),
    /// Write a self-contained HTML report: causes, charts on one time axis, every stall.
    Report(report::ReportArgs),
    /// Serve the report on localhost, with every counter, request and stall behind it.
    View(view::ViewArgs),
    /// Show current stalls in the terminal, live or at any moment of a run.
    Top(top::args::TopArgs),
    /// Time a kernel function, or the interval between two tracepoints, as histograms.
    Funclat(funclat::args::FunclatArgs),
    /// Run many configurations repeatedly in randomized blocks.
    Sweep(sweep::args::SweepArgs),
    /// Test a setting on live load: periods with and without it, in random order.
    Trial(trial::args::TrialArgs),
    /// Export a run to another tool's format.
    Export(export::ExportArgs),
    /// Convert a recording of ftrace, trace-cmd or perf into a run.
    Import(import::ImportArgs),
    /// Copy a run without the names of the machine and its users.
    Anonymize(anonymize::AnonymizeArgs),
    /// Collect explained stalls of many runs and machines as Parquet files.
    Lake(lake::LakeArgs),
    #[command(disable_help_flag = true, about = fleet::ABOUT)]
    #[allow(missing_docs)]
    Fleet(fleet::FleetArgs),
    /// Check the integrity of a run's archive and report losses.
    Check(RunArgs),
    /// List the built-in recipes, or print one.
    Recipes(recipes::RecipesArgs),
    /// Write man pages and shell completions into a directory.
    #[command(hide = true)]
    Generate {
        /// Target directory; created if missing.
        directory: PathBuf,
    },
    /// The load process. `run` starts it; not for interactive use.
    #[command(name = "__load", hide = true, disable_help_flag = true)]
    Load {
        /// Arguments of the load process.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Restores what a killed program left changed. `trial` and ranks over MPI start it; not for interactive use.
    #[command(name = "__watchdog", hide = true)]
    Watchdog {
        /// Process to watch.
        pid: u32,
        /// When it started, in clock ticks since boot.
        start_ticks: u64,
        /// Id of the boot.
        boot_id: String,
        /// Time to try again, in seconds, while others still use what is left; then nothing is printed.
        #[arg(default_value_t = 0)]
        patience_s: u64,
    },
    /// Enters cgroups, then executes a command. `record` starts it; not for interactive use.
    #[command(name = "__in-cgroup", hide = true)]
    InCgroup {
        /// cgroup.procs file to enter.
        #[arg(long)]
        cgroup_procs: Vec<PathBuf>,
        /// Command to execute.
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
}

impl Command {
    /// Whether it reads runs or traces, which may come from a stranger, and changes nothing of the machine.
    pub fn only_reads(&self) -> bool {
        match self {
            Command::Show(_) | Command::Explain(_) | Command::Blk(_) | Command::Compare(_) | Command::Report(_) => true,
            Command::View(_)
            | Command::Hung(_)
            | Command::Import(_)
            | Command::Export(_)
            | Command::Anonymize(_)
            | Command::Lake(_)
            | Command::Check(_)
            | Command::Recipes(_) => true,
            Command::Top(args) => args.run.is_some(),
            _ => false,
        }
    }
}

/// The whole command line: the commands above, `run` with a subcommand for each recipe, `simulate` with one for each
/// model.
pub fn command(offers: &[Offer]) -> clap::Command {
    Cli::command().subcommand(workload::command(offers)).subcommand(simulate::request::command())
}
