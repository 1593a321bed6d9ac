//! What a kernel worker that ended a wait had done before: it does one work after the other, for several file systems.

use model::block::Operation;
use model::detail::Detail;
use model::stall::RequestRecord;

use crate::blame::facts::cause::Cause;
use crate::blame::facts::disks::LOOP_MAJOR;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;

/// The queue of a loop device, whose worker may do what others wait for in one work, and end it in another one.
const LOOP: &str = "loop";

/// Whether a kernel worker that ended a wait did other work in a row before: of another file system, or another kind. What it waited for
/// then delayed this wait only in so far as the worker came late.
pub(crate) fn is_of_other_work(index: &RunIndex, ended: &Row, row: &Row) -> bool {
    let work = |stack: Option<u32>| index.stack(stack).and_then(|stack| stack.work);
    let of_loop = row.work.is_some_and(|work| index.names.get(work).starts_with(LOOP));
    let works = work(ended.waker_stack.get()).zip(work(row.stack.get()));
    !of_loop && works.is_some_and(|(last, before)| last != before)
}

/// Whether a request can have ended a wait of that cause. The last one that completed on the waker's CPU may be another task's, of another
/// disk: a read ends no writeback.
pub(crate) fn may_end(index: &RunIndex, request: &RequestRecord, row: &Row, cause: Cause) -> bool {
    let is_write = || !matches!(request.kind.operation(), Operation::Read | Operation::Discard);
    cause != Cause::WritebackWait || (is_write() && !is_of_other_loop(index, request, row))
}

/// Whether a row waits for a page of a loop device's file system, and the request is one of another disk.
fn is_of_other_loop(index: &RunIndex, request: &RequestRecord, row: &Row) -> bool {
    let number = index.detail(row).and_then(Detail::device);
    number.is_some_and(|number| number.major() == LOOP_MAJOR && number != request.device)
}
