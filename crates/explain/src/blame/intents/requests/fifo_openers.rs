//! Opens of a FIFO.

use model::stall::{Awaits, StallKind};

use crate::blame::facts::intent::Intent;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::rule::{Example, Rule};
use crate::hashing::FastSet;

pub(crate) const RULE: Rule = Rule {
    id: "fifo-opened-by-other-end",
    concludes: "An open of a FIFO that the recorded command, a task that is asked about or its child, or a server that \
                had a client's request waited in was a wait for the task that opened the other end.",
    from: "The stack of the wait, and the task that ended it.",
    because: "The kernel lets an open of a FIFO return when its other end is opened, and wakes it from that open.",
    unless: "A program that reads a FIFO for its next work idles there: of tasks that nobody asks about nothing is \
             concluded.",
    example: Example {
        timeline: "
            off 7 | ssssssssssss  | call=openat stack=wait_for_partner,fifo_open state=1 waker=9 watched
            off 9 |ssssssssssss   | call=clock_nanosleep awaits=interrupt",
        causes: "sleep 11, peer 1",
        chain: "thread 7: sleep 11 < thread 9: sleep 11",
    },
};

/// Children of children that are looked at.
const GENERATIONS: usize = 4;

pub(crate) fn find(index: &RunIndex) -> Vec<(u32, Intent)> {
    let asked = with_children(index);
    let is_one = |row: &Row| {
        row.kind == StallKind::OffCpu
            && (asked.contains(&row.tid) || index.asked_ns(row).is_some())
            && index.awaits(row).is_none()
            && index.stack(row.stack.get()).is_some_and(|stack| stack.opens_fifo)
            && index.waker(row).is_some()
            && !index.waker_stack(row).is_some_and(|waker| waker.signals)
    };
    let opens = index.rows.iter().filter(|row| is_one(row));
    opens.map(|row| (row.at, Intent { what: Some(Awaits::Room), ..*index.intent(row) })).collect()
}

/// The tasks that are asked about, and the children that they waited for.
fn with_children(index: &RunIndex) -> FastSet<u32> {
    let mut all = index.subjects.clone();
    let mut parents: Vec<u32> = all.iter().copied().collect();
    for _ in 0..GENERATIONS {
        let waits = parents.iter().flat_map(|tid| index.rows_of(*tid)).map(|(_, row)| row);
        let waits = waits.filter(|row| row.kind == StallKind::OffCpu && index.awaits(row) == Some(Awaits::Child));
        let children: FastSet<u32> = waits.filter_map(|row| index.waker(row)).collect();
        parents = children.into_iter().filter(|child| all.insert(*child)).collect();
    }
    all
}
