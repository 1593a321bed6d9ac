//! Long run-queue waits of the recorded command outside of its operations: of a program that computes, and of one whose
//! sleep was over.

use model::stall::StallKind;

use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::operations::{BusyTimes, Operation, of_row};

/// The class of a preemption outside of system calls and page faults.
pub(crate) const PREEMPTED: &str = "preempted";

/// From the moment on at which its task could have run.
pub(crate) fn run_queue_waits(index: &mut RunIndex, found: &[Operation], slower_than_ns: u64) -> Vec<Operation> {
    let preempted = index.names.insert(PREEMPTED);
    let found = found.iter().filter(|found| found.asynchronous.is_none());
    let busy = BusyTimes::of(found.map(|found| (found.tid, found.start_ns, found.end_ns)));
    let is_one = |row: &&Row| {
        row.kind == StallKind::OffCpu
            && row.watched
            && !row.is_stopped()
            && row.end_ns - row.runnable_ns >= slower_than_ns
            && !busy.overlaps(row.tid, row.runnable_ns, row.end_ns)
    };
    let of_row = |row: &Row| Operation { start_ns: row.runnable_ns, cut: false, ..of_row(row, preempted) };
    index.rows.iter().filter(is_one).map(of_row).collect()
}
