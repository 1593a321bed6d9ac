//! The samplers and the tracer that this machine supports.

use model::preflight::Finding;
use record::{LoadCgroup, Roots, SamplerOptions, SamplerSet, TraceOptions, Tracing};

use crate::ui::screen::Screen;

/// What a recording reads from the kernel.
pub struct Probes {
    /// The samplers.
    pub samplers: SamplerSet,
    /// The tracer; `None` if tracing is off.
    pub tracing: Option<Tracing>,
    /// What the machine supports and what is missing.
    pub findings: Vec<Finding>,
}

impl Probes {
    /// Opens the samplers, also of the load's cgroup, and with `trace` the tracer.
    pub fn open(cgroup: Option<&LoadCgroup>, trace: Option<&TraceOptions>) -> Probes {
        let ((mut samplers, mut findings), (tracing, missing)) = std::thread::scope(|scope| {
            // The kernel checks the tracer's programs meanwhile.
            let samplers = std::thread::Builder::new().name("discovery".to_owned()).spawn_scoped(scope, self::samplers);
            let traced = trace.map(tracing).unzip();
            let samplers = samplers.ok().and_then(|running| running.join().ok());
            (samplers.unwrap_or_else(self::samplers), traced)
        });
        findings.extend(cgroup.and_then(|cgroup| samplers.add_cgroup(cgroup)));
        findings.extend(missing.into_iter().flatten());
        Probes { samplers, tracing, findings }
    }

    /// Whether the kernel is traced.
    pub fn is_tracing(&self) -> bool {
        self.tracing.as_ref().is_some_and(Tracing::is_tracing)
    }

    /// Reports that tracing was requested but is unavailable: a note, and with `-q`, which hides notes, a warning.
    /// Nothing else says then what the recording lacks.
    pub fn remark_untraced(&self, screen: &Screen) {
        if self.tracing.is_none() || self.is_tracing() {
            return;
        }
        let words = "the kernel is not traced; `stallscope doctor` says why and what to do";
        if screen.is_quiet() { screen.warning(words) } else { screen.remark(words) }
    }
}

/// The samplers that this machine supports, and what is missing.
pub fn samplers() -> (SamplerSet, Vec<Finding>) {
    SamplerSet::discover(&Roots::default(), &SamplerOptions::default())
}

/// The tracer that this machine supports, and what is missing.
pub fn tracing(options: &TraceOptions) -> (Tracing, Vec<Finding>) {
    Tracing::open(&Roots::default(), options)
}
