//! What to record, and how much it may cost.

use crate::source::cgroup::LoadCgroup;

/// What to record and how much it may cost.
#[derive(Debug, Clone)]
pub struct SamplerOptions {
    /// The cgroup that the load runs in, if it already exists.
    pub cgroup: Option<LoadCgroup>,
    /// Sources to leave out, by the names in the crate's table.
    pub disabled: Vec<String>,
    /// Tracepoint counters are left out on machines with more CPUs: reading them interrupts each CPU.
    pub tracepoint_cpu_limit: usize,
    /// CPU time that one source may use for one sample. A source that exceeds it three times in a row is read only at
    /// every second, third, ... sample, which keeps its share of the time as planned. This happens where the kernel
    /// walks long lists to answer: slabinfo of a large machine, bdi statistics with a million dirty inodes.
    pub source_budget_ns: u64,
}

impl Default for SamplerOptions {
    fn default() -> SamplerOptions {
        SamplerOptions { cgroup: None, disabled: Vec::new(), tracepoint_cpu_limit: 128, source_budget_ns: 1_500_000 }
    }
}
