//! Output of children that a parent reads from a pipe.

use model::stall::{Awaits, StallKind};

use crate::blame::facts::intent::Intent;
use crate::blame::facts::names::Name;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::rule::{Example, Rule};

pub(crate) const RULE: Rule = Rule {
    id: "child-writes-output",
    concludes: "The recorded command, or a task that is asked about, that reads a pipe waits for the descendant that \
                writes to it.",
    from: "The stack of the task that ended the read writes to a pipe, and its process descends from the reader's.",
    because: "A program that starts another one and reads its output (popen, a pool of workers) goes on when \
              its child does.",
    unless: "Nobody asks about the reader: a supervisor that collects what its services log idles.",
    example: Example {
        timeline: "
            task 7 |n             | name=lua pid=7
            task 9 |n             | name=flock pid=9 started_by=lua/7
            off  7 | ssssssssssss | call=read stack=anon_pipe_read state=1 awaits=message watched waker=9 \
            waker_stack=anon_pipe_write
            off  9 | ssssssssss   | call=flock stack=locks_lock_inode_wait state=1",
        causes: "lock 10, unexplained 2",
        chain: "lua/7: lock 10 < flock/9: lock 10",
    },
};

/// Children of children that are looked at.
const GENERATIONS: usize = 4;

pub(crate) fn find(index: &RunIndex) -> Vec<(u32, Intent)> {
    let is_one = |row: &Row| {
        row.kind == StallKind::OffCpu
            && index.subjects.contains(&row.tid)
            && index.awaits(row) == Some(Awaits::Message)
            && index.waker_stack(row).is_some_and(|waker| waker.writes_pipe)
            && index.waker(row).is_some_and(|writer| descends(index, writer, row))
    };
    let reads = index.rows.iter().filter(|row| is_one(row));
    reads.map(|row| (row.at, Intent { what: Some(Awaits::AnswerOfChild), ..*index.intent(row) })).collect()
}

/// Whether a task is of a process below that of the reader.
fn descends(index: &RunIndex, writer: u32, read: &Row) -> bool {
    let parent = index.tasks.process_of(read.tid, read.end_ns);
    let mut at = index.tasks.process_of(writer, read.end_ns);
    for _ in 0..GENERATIONS {
        match index.tasks.started_by(at).and_then(|name| starter(index, name)) {
            Some(starter) if starter == parent => return true,
            Some(starter) => at = starter,
            None => return false,
        }
    }
    false
}

/// The process that a name ends with: `flock/31727`.
fn starter(index: &RunIndex, name: Name) -> Option<u32> {
    index.names.get(name).rsplit_once('/')?.1.parse().ok()
}
