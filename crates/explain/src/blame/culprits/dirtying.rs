//! What writers make dirty while the limit of dirty pages pauses them, from rows and usage.

use std::collections::BTreeSet;

use crate::blame::facts::cause::Cause;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::usage::Target;
use crate::blame::operations::Operation;
use crate::thresholds::UNTHROTTLED_AFTER_NS;
use crate::waits::{Burst, Dirtying};

/// What the processes of these operations made dirty while they were paused; `None` where that is unknown.
pub(crate) fn dirtying(index: &RunIndex, operations: &[Operation]) -> Option<Dirtying> {
    let limit_bytes = index.dirty_limit_bytes?;
    let tids: BTreeSet<u32> = operations.iter().map(|operation| operation.tid).collect();
    let mut pauses: Vec<Pause> = tids.into_iter().flat_map(|tid| pauses(index, tid)).collect();
    pauses.sort_unstable();
    let bursts: Vec<Burst> = pauses
        .chunk_by(|a, b| b.from_ns <= a.to_ns.saturating_add(UNTHROTTLED_AFTER_NS))
        .map(|pauses| burst(index, pauses))
        .collect();
    let is_known = bursts.iter().any(|burst| burst.dirtied_bytes > 0);
    is_known.then_some(Dirtying { limit_bytes, bursts })
}

/// Of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pause {
    from_ns: u64,
    to_ns: u64,
    pid: u32,
}

fn pauses(index: &RunIndex, tid: u32) -> impl Iterator<Item = Pause> {
    let rows = index.rows_of(tid).filter(|(number, _)| index.main_cause(*number) == Cause::DirtyThrottle);
    rows.map(move |(_, row)| {
        let pid = index.tasks.process_of(tid, row.end_ns);
        Pause { from_ns: row.start_ns, to_ns: row.end_ns, pid }
    })
}

/// Of pauses that follow one another, of one process or several: the limit is common to all.
fn burst(index: &RunIndex, pauses: &[Pause]) -> Burst {
    let pids: BTreeSet<u32> = pauses.iter().map(|pause| pause.pid).collect();
    let from_ns = pauses[0].from_ns;
    let to_ns = pauses.iter().map(|pause| pause.to_ns).max().unwrap_or(from_ns);
    let rows = index.usage.between(Target::Dirtied, from_ns, to_ns);
    let rows = rows.filter(|(used, _)| used.pid.is_some_and(|pid| pids.contains(&pid)));
    let bytes: f64 = rows.map(|(used, ns)| used.bytes as f64 * ns as f64 / (used.end_ns - used.start_ns) as f64).sum();
    // The work of a recorded command ends with the recording, however late its last pause was.
    let is_of_command = |tid: &u32| pids.contains(&index.tasks.process_of(*tid, to_ns));
    let ended_ns = index.ended_ns.filter(|_| !index.of_command.iter().any(is_of_command));
    Burst { dirtied_bytes: bytes as u64, goes_on: ended_ns.is_some_and(|ended| ended <= to_ns + UNTHROTTLED_AFTER_NS) }
}
