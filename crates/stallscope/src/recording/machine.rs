//! The machine before a run: what earlier runs left behind, and the run's description.

use std::os::unix::ffi::OsStrExt as _;

use model::name;
use model::preflight::Finding;
use model::run::{Configuration, Limits, RecipeAsRun, RunDescription};
use record::{Roots, TraceOptions, clock, host};
use rig::Register;

use crate::recording::args::{RecordingArgs, Requests};

/// What a run is called, and its options.
#[derive(Debug)]
pub struct Intent {
    /// Name of the workload.
    pub workload: String,
    /// Sampling interval.
    pub sample_interval_ns: u64,
    /// Interval of the load's reports.
    pub report_interval_ns: Option<u64>,
    /// Operations slower than this are recorded individually.
    pub slower_than_ns: u64,
    /// What to trace; `None` traces nothing.
    pub trace: Option<TraceOptions>,
    /// Seed of the load.
    pub seed: Option<u64>,
    /// The recipe, if any.
    pub recipe: Option<RecipeAsRun>,
    /// Its configuration label, if any.
    pub configuration: Option<Configuration>,
    /// Directories that a recorded command is likely to use.
    pub under_test: Vec<String>,
}

impl Intent {
    /// A run that records `workload` with these options.
    pub fn new(workload: &str, args: &RecordingArgs) -> Intent {
        Intent {
            workload: workload.to_owned(),
            sample_interval_ns: args.interval,
            report_interval_ns: None,
            slower_than_ns: args.slower_than,
            trace: trace_options(args),
            seed: None,
            recipe: None,
            configuration: args.configuration.clone(),
            under_test: Vec::new(),
        }
    }
}

/// The run's description. Taken before the first sample, once everything that the run needs is set up.
pub fn describe(intent: Intent, is_tracing: bool, limits: Limits, preflight: Vec<Finding>) -> RunDescription {
    let roots = Roots::default();
    RunDescription {
        format: model::run::FORMAT_VERSION,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        workload: intent.workload,
        command: std::env::args_os().map(|word| name::text(word.as_bytes())).collect(),
        started: clock::now(),
        sample_interval_ns: intent.sample_interval_ns,
        report_interval_ns: intent.report_interval_ns,
        slower_than_ns: intent.slower_than_ns,
        followed: intent.trace.iter().flat_map(|trace| &trace.follow).map(ToString::to_string).collect(),
        trace: intent.trace.filter(|_| is_tracing).map(|trace| trace.settings),
        seed: intent.seed,
        recipe: intent.recipe,
        simulated: None,
        configuration: intent.configuration,
        host: host::host(&roots),
        mounts: host::mounts(&roots).into_iter().filter(host::is_storage).collect(),
        devices: record::device::devices(&roots),
        under_test: intent.under_test,
        limits,
        preflight,
    }
}

/// What to trace by these options.
pub fn trace_options(args: &RecordingArgs) -> Option<TraceOptions> {
    let all_requests = args.requests == Requests::All;
    let (follow, user_stacks) = (args.follow.clone(), args.user_stacks);
    let options = || TraceOptions { follow, user_stacks, ..TraceOptions::slower_than(args.slower_than, all_requests) };
    (!args.no_trace).then(options)
}

/// Opens the register. Leftovers of earlier runs have been removed; each is reported to `remark`.
pub fn register(remark: impl Fn(&str)) -> Result<Register, rig::RigError> {
    let (register, removed) = Register::open()?;
    for leftover in removed {
        remark(&format!("left by an earlier run: {leftover}"));
    }
    Ok(register)
}
