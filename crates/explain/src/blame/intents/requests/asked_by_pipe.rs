//! Clients that ask and are answered by pipes. A pipe does not say which end is the client: who woke whom before does.

use model::stall::{Awaits, StallKind};
use model::system_call::traits;

use crate::blame::facts::intent::Intent;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::rule::{Example, Rule};
use crate::thresholds::SOON_NS;

pub(crate) const RULE: Rule = Rule {
    id: "asked-by-pipe",
    concludes: "A read of a pipe waits for an answer.",
    from: "Right before its read, the reader woke the later writer from a wait for a message, and the writer has \
           waited for none since.",
    because: "It is a request and its answer, whatever the two did before. A stage of a pipeline wakes the one behind \
              it, which wakes no stage before it; a \
              writer that the reader made room for did not wait for a message.",
    unless: "The writer had the request already and sleeps for it elsewhere: then its own sleep says what it does.",
    example: Example {
        timeline: "
            off 7 |  ssssssssssss  | call=read stack=anon_pipe_read,fifo_pipe_read state=1 awaits=message waker=9
            off 9 |ss              | call=read stack=anon_pipe_read,fifo_pipe_read state=1 awaits=message waker=7
            off 9 |   sssssssss    | stack=xfs_log_force",
        causes: "fs_log 9, unexplained 3",
        chain: "thread 7: fs_log 9 < thread 9: fs_log 9",
    },
};

pub(crate) fn find(index: &RunIndex) -> Vec<(u32, Intent)> {
    let is_one = |row: &Row| {
        waits_for_message(index, row)
            && index.does(row, traits::RECEIVES)
            && index.stack(row.stack.get()).is_some_and(|stack| stack.reads_pipe)
            && index.waker(row).is_some_and(|writer| was_asked(index, writer, row))
    };
    let reads = index.rows.iter().filter(|row| is_one(row));
    reads.map(|row| (row.at, Intent { what: Some(Awaits::Answer), ..*index.intent(row) })).collect()
}

fn waits_for_message(index: &RunIndex, row: &Row) -> bool {
    row.kind == StallKind::OffCpu && row.interruptible && index.awaits(row) == Some(Awaits::Message)
}

fn was_asked(index: &RunIndex, writer: u32, read: &Row) -> bool {
    let mut before = index.rows_between(writer, 0, read.runnable_ns).map(|(_, row)| row);
    let idled = before.find(|row| waits_for_message(index, row) && row.runnable_ns < read.runnable_ns);
    idled.is_some_and(|idled| {
        index.waker(idled) == Some(read.tid) && idled.runnable_ns.abs_diff(read.start_ns) <= SOON_NS
    })
}
