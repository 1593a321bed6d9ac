//! What is known of the machine before a run: the kernel's files that are not mounted yet, and the run's description.

use model::preflight::Finding;
use model::run::{Configuration, Limits, RecipeAsRun, RunDescription};
use record::{Roots, SamplerOptions, SamplerSet, TraceOptions, Tracing, clock, host};
use rig::Register;

use crate::recording::args::{RecordingArgs, Requests};

/// What a run is called and how it was asked for.
#[derive(Debug)]
pub struct Intent {
    /// Workload's name.
    pub workload: String,
    /// Time between samples.
    pub sample_interval_ns: u64,
    /// Time between a load's reports.
    pub report_interval_ns: Option<u64>,
    /// What makes an operation slow.
    pub slower_than_ns: u64,
    /// What to trace; `None`: nothing.
    pub trace: Option<TraceOptions>,
    /// Seed of the load.
    pub seed: Option<u64>,
    /// The recipe, where there is one.
    pub recipe: Option<RecipeAsRun>,
    /// Of which runs it is one.
    pub configuration: Option<Configuration>,
}

/// The run's description. Taken before the first sample, after everything is built that the run needs.
pub fn describe(intent: Intent, is_tracing: bool, limits: Limits, preflight: Vec<Finding>) -> RunDescription {
    let roots = Roots::default();
    RunDescription {
        format: model::run::FORMAT_VERSION,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        workload: intent.workload,
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        started: clock::now(),
        sample_interval_ns: intent.sample_interval_ns,
        report_interval_ns: intent.report_interval_ns,
        slower_than_ns: intent.slower_than_ns,
        trace: intent.trace.filter(|_| is_tracing).map(|trace| trace.settings),
        seed: intent.seed,
        recipe: intent.recipe,
        simulated: None,
        configuration: intent.configuration,
        host: host::host(&roots),
        mounts: host::mounts(&roots).into_iter().filter(host::is_storage).collect(),
        devices: record::device::devices(&roots),
        limits,
        preflight,
    }
}

/// The samplers that this machine allows, and what it does not.
pub fn samplers() -> (SamplerSet, Vec<Finding>) {
    SamplerSet::discover(&Roots::default(), &SamplerOptions::default())
}

/// What to trace, as the person asked.
pub fn trace_options(args: &RecordingArgs) -> Option<TraceOptions> {
    let all_requests = args.requests == Requests::All;
    (!args.no_trace).then(|| TraceOptions::slower_than(args.slower_than, all_requests))
}

/// The tracer that this machine allows, and what it does not.
pub fn tracing(options: &TraceOptions) -> (Tracing, Vec<Finding>) {
    Tracing::open(&Roots::default(), options)
}

/// The register, with what an earlier run left behind already removed and told.
pub fn register(tell: impl Fn(&str)) -> Result<Register, rig::RigError> {
    let (register, removed) = Register::open()?;
    for leftover in removed {
        tell(&format!("left by an earlier run: {leftover}"));
    }
    Ok(register)
}
