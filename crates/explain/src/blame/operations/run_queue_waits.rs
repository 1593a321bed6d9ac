//! Long run-queue waits of the recorded command outside of its operations: of a program that computes, and of one whose
//! sleep was over. Of other tasks that are asked about: computations that a CPU quota holds again and again.

use model::detail::Detail;
use model::stall::StallKind;

use crate::blame::facts::rows::Row;
use crate::blame::facts::rows::joined::joined;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::operations::{BusyTimes, Operation, of_row, of_rows};

/// The class of a preemption outside of system calls and page faults.
pub(crate) const PREEMPTED: &str = "preempted";

/// From the moment on at which its task could have run.
pub(crate) fn run_queue_waits(index: &mut RunIndex, found: &[Operation], slower_than_ns: u64) -> Vec<Operation> {
    let preempted = index.names.insert(PREEMPTED);
    let index = &*index;
    let found = found.iter().filter(|found| found.asynchronous.is_none());
    let mut busy = BusyTimes::of(found.map(|found| (found.tid, found.start_ns, found.end_ns)));
    let held = out_of_quota(index, &busy).into_iter().map(|rows| of_rows(index, &rows, preempted));
    let mut operations: Vec<Operation> = held.filter(|held| held.ns() >= slower_than_ns).collect();
    operations.retain(|held| !busy.overlaps(held.tid, held.start_ns, held.end_ns));
    operations.iter().for_each(|held| busy.insert(held.tid, held.start_ns, held.end_ns));
    let is_one = |row: &&Row| {
        row.kind == StallKind::OffCpu
            && row.watched
            && !row.is_stopped()
            && row.end_ns - row.runnable_ns >= slower_than_ns
            && !busy.overlaps(row.tid, row.runnable_ns, row.end_ns)
    };
    let of_row = |row: &Row| Operation { start_ns: row.runnable_ns, cut: false, ..of_row(row, preempted) };
    operations.extend(index.rows.iter().filter(is_one).map(of_row));
    operations
}

/// Preemptions by the CPU quota of a cgroup, each at most a period after the one before it: a task that is held again
/// within the period did nothing but compute. Those of the recorded command, of which all are recorded, are summed up.
fn out_of_quota<'a>(index: &'a RunIndex, busy: &BusyTimes) -> Vec<Vec<&'a Row>> {
    let is_one = |row: &Row| {
        let is_preempted = row.kind == StallKind::OffCpu && row.held && row.runnable_ns == row.start_ns;
        is_preempted
            && !row.watched
            && index.subjects.contains(&row.tid)
            && !busy.overlaps(row.tid, row.start_ns, row.end_ns)
    };
    let quota = |row: &Row| index.detail(row).and_then(Detail::cpu_quota);
    joined(&index.rows, |row| quota(row).filter(|_| is_one(row)), |row| quota(row).map_or(0, |quota| quota.period_ns))
}
