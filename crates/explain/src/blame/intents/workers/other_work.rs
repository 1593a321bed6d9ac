//! What a kernel worker that ended a wait had done before: it does one work after the other, for several file systems.

use model::block::Operation;
use model::detail::Detail;
use model::stall::RequestRecord;

use crate::blame::facts::cause::Cause;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::disks::LOOP_MAJOR;
use crate::blame::rule::{Example, Rule};

pub(crate) const RULE: Rule = Rule {
    id: "other-work-of-its-worker",
    concludes: "What a kernel worker waited for in another work did not delay this wait.",
    from: "The work function in which the worker ended the wait, and that of its own wait.",
    because: "A kernel worker does one work after the other, for several file systems; what it waited for before \
              delays this one only as far as it came late.",
    unless: "The worker of a loop device may do what others wait for in one work, and end it in another.",
    example: Example {
        timeline: "
            op:read 7 |==============|
            off     7 | ssssssssssss | stack=folio_wait_bit_common,filemap_read waker=9 \
            waker_stack=folio_end_read,end_a,process_one_work,worker_thread
            off     9 |  sssssssss   | stack=xfs_log_force,end_b,process_one_work,worker_thread",
        causes: "device 12, running 2",
        chain: "thread 7: device 12 < thread 9: unexplained 12",
    },
};

/// The queue of a loop device, whose worker may do what others wait for in one work, and end it in another one.
const LOOP: &str = "loop";

/// Whether a kernel worker that ended a wait did other work in a row before: of another file system, or another kind.
/// What it waited for then delayed this wait only in so far as the worker came late.
pub(crate) fn is_of_other_work(index: &RunIndex, ended: &Row, row: &Row) -> bool {
    let work = |stack: Option<u32>| index.stack(stack).and_then(|stack| stack.work);
    let of_loop = row.work.is_some_and(|work| index.names.get(work).starts_with(LOOP));
    let works = work(index.intent(ended).whom_stack.get()).zip(work(row.stack.get()));
    index.applies(&RULE) && !of_loop && works.is_some_and(|(last, before)| last != before)
}

/// Whether the worker that ended a wait had waited for other work within it.
pub(crate) fn is_left_out(index: &RunIndex, ended: &Row) -> bool {
    let of_worker = index.stack(index.intent(ended).whom_stack.get()).is_some_and(|stack| stack.work.is_some());
    let Some(worker) = index.waker(ended).filter(|_| of_worker) else { return false };
    index.rows_between(worker, ended.start_ns, ended.runnable_ns).any(|(_, row)| is_of_other_work(index, ended, row))
}

/// Whether a request can have ended a wait of that cause. The last one that completed on the waker's CPU may be another
/// task's, of another disk: a read ends no writeback.
pub(crate) fn may_end(index: &RunIndex, request: &RequestRecord, row: &Row, cause: Cause) -> bool {
    let is_write = || !matches!(request.kind.operation(), Operation::Read | Operation::Discard);
    cause != Cause::WritebackWait || (is_write() && !is_of_other_loop(index, request, row))
}

/// Whether a row waits for a page of a loop device's file system, and the request is one of another disk.
fn is_of_other_loop(index: &RunIndex, request: &RequestRecord, row: &Row) -> bool {
    let number = index.detail(row).and_then(Detail::device);
    number.is_some_and(|number| number.major() == LOOP_MAJOR && number != request.device)
}
