//! What the machine allowed when a run began.

use serde::{Deserialize, Serialize};

/// Capabilities that answers rest on, by their names in archives.
pub mod capability {
    /// Begins the name of each source of the tracer.
    pub const TRACER_SOURCE: &str = "tracing: ";
    /// BPF programs at all.
    pub const TRACING: &str = "kernel tracing (BPF)";
    /// Counters of tracepoints, which perf_event_open counts: no BPF program is needed.
    pub const TRACEPOINT_COUNTERS: &str = "tracepoint counters";
    /// Context switches and wakeups.
    pub const SCHEDULER: &str = "tracing: scheduler";
    /// Begins and ends of system calls.
    pub const SYSTEM_CALLS: &str = "tracing: system calls";
    /// Block requests from insertion to completion.
    pub const BLOCK_REQUESTS: &str = "tracing: block requests";
    /// Contention of the kernel's sleeping locks.
    pub const LOCKS: &str = "tracing: locks";
    /// Direct reclaim.
    pub const DIRECT_RECLAIM: &str = "tracing: direct reclaim";
    /// Reclaim of memory cgroups.
    pub const MEMCG_RECLAIM: &str = "tracing: memcg reclaim";
}

/// What answers are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// Which operations were slow, and when their tasks slept.
    Operations,
    /// What happened at the disk: throttling, queues, the device.
    Disk,
    /// Which locks were waited for, and who held them.
    Locks,
    /// Reclaim.
    Memory,
}

impl Subject {
    /// All subjects.
    pub const ALL: [Subject; 4] = [Subject::Operations, Subject::Disk, Subject::Locks, Subject::Memory];

    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Subject::Operations => "operations",
            Subject::Disk => "disk",
            Subject::Locks => "locks",
            Subject::Memory => "memory",
        }
    }

    /// The subject of that name.
    pub fn from_name(name: &str) -> Option<Subject> {
        Subject::ALL.into_iter().find(|subject| subject.name() == name)
    }

    /// The capabilities without which nothing certain is known of it.
    pub const fn needs(self) -> &'static [&'static str] {
        use capability::{DIRECT_RECLAIM, MEMCG_RECLAIM, SCHEDULER, SYSTEM_CALLS};
        match self {
            Subject::Operations => &[capability::TRACING, SCHEDULER, SYSTEM_CALLS],
            Subject::Disk => &[capability::TRACING, capability::BLOCK_REQUESTS],
            Subject::Locks => &[capability::TRACING, capability::LOCKS],
            Subject::Memory => &[capability::TRACING, DIRECT_RECLAIM, MEMCG_RECLAIM],
        }
    }

    /// The first missing capability that it needs.
    pub fn lacks(self, findings: &[Finding]) -> Option<&Finding> {
        let is_needed = |finding: &&Finding| self.needs().contains(&finding.capability.as_str());
        findings.iter().filter(is_needed).find(|finding| finding.is_missing())
    }
}

/// A subject that a recording says nothing certain of, because its sources were not traced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untraced {
    /// Which.
    pub subject: Subject,
    /// Why, where known.
    pub why: Option<String>,
    /// What to do.
    pub remedy: Option<String>,
}

/// The result of one check before the run: of a permission, a mount, a kernel feature, a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its name: `memory cgroup`, `XFS statistics`, `tracepoint counters`.
    pub capability: String,
    /// Whether it can be used.
    pub available: bool,
    /// What it shows or is used for.
    pub purpose: String,
    /// Why it is missing; `None` if it is available.
    pub why: Option<String>,
    /// The remedy; `None` if none is needed or known.
    pub remedy: Option<String>,
    /// The kernel module that has it and is not loaded: nothing on the machine uses it, and once it is loaded it is
    /// available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unloaded_module: Option<String>,
}

impl Finding {
    /// The capability is available.
    pub fn available(capability: impl Into<String>, purpose: impl Into<String>) -> Finding {
        Finding {
            capability: capability.into(),
            available: true,
            purpose: purpose.into(),
            why: None,
            remedy: None,
            unloaded_module: None,
        }
    }

    /// The capability is missing.
    pub fn missing(
        capability: impl Into<String>,
        purpose: impl Into<String>,
        why: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Finding {
        Finding {
            capability: capability.into(),
            available: false,
            purpose: purpose.into(),
            why: Some(why.into()),
            remedy: Some(remedy.into()),
            unloaded_module: None,
        }
    }

    /// It belongs to a kernel module that is not loaded.
    pub fn not_loaded(capability: impl Into<String>, purpose: impl Into<String>, module: impl Into<String>) -> Finding {
        let module = module.into();
        let mut finding = Finding::available(capability, purpose);
        finding.available = false;
        finding.why = Some(format!("module {module} is not loaded; once it is, this is available"));
        finding.unloaded_module = Some(module);
        finding
    }

    /// Whether it is the tracer, or one of its sources.
    pub fn is_of_tracer(&self) -> bool {
        self.capability == capability::TRACING || self.capability.starts_with(capability::TRACER_SOURCE)
    }

    /// Whether something that the machine should have is missing.
    pub fn is_missing(&self) -> bool {
        !self.available && self.unloaded_module.is_none()
    }
}
