//! What to time, and what to keep of it.

use model::call_latency::LatencyUnit;

/// What to time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A kernel function, from its entry to its return.
    Function(String),
    /// Tracepoints, in the user's form: `SUBSYSTEM:BEGIN..END`.
    Pair(String),
}

/// Which calls go into one histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupBy {
    /// Calls of one thread.
    Task,
    /// Calls of one cgroup: of the memory hierarchy of cgroup v1, or of cgroup v2.
    Cgroup,
}

/// A method of timing a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// fentry and fexit: cheap, and no return is missed.
    Fexit,
    /// kprobe and kretprobe: for more functions and older kernels; the kernel misses returns where very many tasks are
    /// in the function at once.
    Kprobe,
}

/// What to time, and what to keep of it.
#[derive(Debug, Clone)]
pub struct FunclatOptions {
    /// What to time.
    pub target: Target,
    /// Use only this method; `None`: the best that the kernel allows. Ignored for tracepoints.
    pub method: Option<Method>,
    /// Calls that took less are only counted.
    pub above_ns: u64,
    /// Calls that took more are only counted.
    pub below_ns: u64,
    /// Only this process.
    pub pid: Option<u32>,
    /// One histogram for each of these; `None`: one for all.
    pub by: Option<GroupBy>,
    /// The unit of the histograms.
    pub unit: LatencyUnit,
}
