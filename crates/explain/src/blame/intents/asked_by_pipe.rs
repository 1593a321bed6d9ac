//! Clients that ask and are answered by pipes. A pipe does not say which end is the client: who woke whom before does.

use model::stall::{Awaits, StallKind};
use model::system_call::traits;

use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::thresholds::SOON_NS;

/// The reads of pipes that wait for an answer: right before its read, the reader woke the later writer from a wait for a message, and the writer
/// has waited for none since. It is a request and its answer, whatever the two did before. A stage of a pipeline wakes the one behind it, which
/// wakes no stage before it; a writer that the reader made room for did not wait for a message.
pub(crate) fn asked_by_pipe(index: &RunIndex) -> Vec<u32> {
    let is_one = |row: &Row| {
        waits_for_message(row)
            && index.does(row, traits::RECEIVES)
            && index.stack(row.stack.get()).is_some_and(|stack| stack.reads_pipe)
            && index.waker(row).is_some_and(|writer| was_asked(index, writer, row))
    };
    index.rows.iter().zip(0..).filter(|(row, _)| is_one(row)).map(|(_, at)| at).collect()
}

fn waits_for_message(row: &Row) -> bool {
    row.kind == StallKind::OffCpu && row.interruptible && row.awaits == Some(Awaits::Message)
}

fn was_asked(index: &RunIndex, writer: u32, read: &Row) -> bool {
    let mut before = index.rows_between(writer, 0, read.runnable_ns).map(|(_, row)| row);
    let idled = before.find(|row| waits_for_message(row) && row.runnable_ns < read.runnable_ns);
    idled.is_some_and(|idled| {
        index.waker(idled) == Some(read.tid) && idled.runnable_ns.abs_diff(read.start_ns) <= SOON_NS
    })
}
