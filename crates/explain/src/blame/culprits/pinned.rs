//! Whether tasks wait for a CPU because they may run on some CPUs only.

use std::collections::HashSet;

use model::stall::StallKind;

use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::usage::Target;
use crate::blame::operations::Operation;
use crate::thresholds::{IDLE_CPU_PART, PINNED_WAIT_NS, PINNED_WAITS};

/// Whether all run-queue waits of these operations' tasks were on busy CPUs, while another CPU was idle: the scheduler
/// moves a task that may run there.
pub(crate) fn are_pinned(index: &RunIndex, operations: &[Operation]) -> bool {
    let tids: HashSet<u32> = operations.iter().map(|operation| operation.tid).collect();
    let waits = tids.iter().flat_map(|tid| index.rows_of(*tid)).map(|(_, row)| row);
    let waits = waits.filter(|row| {
        row.kind == StallKind::OffCpu && row.end_ns.saturating_sub(row.runnable_ns) >= PINNED_WAIT_NS && !row.held
    });
    let (mut count, mut from_ns, mut to_ns, mut cpus) = (0, u64::MAX, 0, HashSet::new());
    for row in waits {
        let Some(cpu) = row.cpu.get() else { continue };
        cpus.insert(cpu);
        (count, from_ns, to_ns) = (count + 1, from_ns.min(row.start_ns), to_ns.max(row.end_ns));
    }
    let is_idle = |cpu: u32| {
        let rows = index.usage.between(Target::Cpu(cpu), from_ns, to_ns);
        let busy_ns: f64 =
            rows.map(|(used, ns)| used.busy_ns as f64 * ns as f64 / (used.end_ns - used.start_ns) as f64).sum();
        busy_ns < IDLE_CPU_PART * (to_ns - from_ns) as f64
    };
    let mut known = index.usage.cpus().filter_map(|target| match target {
        Target::Cpu(cpu) => Some(cpu),
        _ => None,
    });
    count >= PINNED_WAITS
        && cpus.iter().all(|cpu| !is_idle(*cpu))
        && known.any(|cpu| !cpus.contains(&cpu) && is_idle(cpu))
}
