//! Waits for a child that asked a server.

use model::stall::{Awaits, StallKind};

use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::operations::Operation;
use crate::blame::rule::{Example, Rule};

pub(crate) const RULE: Rule = Rule {
    id: "child-asked-a-server",
    concludes: "A wait of the recorded command, or of a task that is asked about, for a child that waited for a \
                server's answer is a wait for that answer: it counts whatever the server did.",
    from: "What the child waited for in that time, or its own child, and so on: half of it for an answer, or for \
           somebody who opens the other end of a FIFO.",
    because: "The child could not end before. What a program's own child sleeps (`sleep 5` in a script) is the \
              program's choice; what somebody else's server sleeps is not.",
    unless: "The answer came earlier than half of the time: then the child slept, or did something else.",
    example: Example {
        timeline: "
            off 7 | ssssssssssss  | call=wait4 stack=do_wait state=1 awaits=child waker=8 watched
            off 8 |  sssssssssss  | call=poll state=1 awaits=answer waker=9 asked=2
            off 9 |  ssssssssss   | call=clock_nanosleep stack=hrtimer_nanosleep state=1 awaits=interrupt",
        causes: "sleep 10, unexplained 2",
        chain: "thread 7: sleep 10 < thread 9: sleep 10",
    },
};

/// Children of children that are looked at.
const GENERATIONS: u32 = 4;

/// Whether a wait for a child was for an answer that the child waited for.
pub(crate) fn asks(index: &RunIndex, operation: &Operation) -> bool {
    let span = (operation.start_ns, operation.end_ns);
    index.applies(&RULE) && asked_ns(index, operation.tid, span, GENERATIONS) >= operation.ns() / 2
}

/// Whether a wait is for somebody else than a child.
fn is_for_other(index: &RunIndex, row: &Row) -> bool {
    let opens_fifo = || index.stack(row.stack.get()).is_some_and(|stack| stack.opens_fifo);
    match index.awaits(row) {
        Some(Awaits::Answer) => true,
        None | Some(Awaits::Room) => opens_fifo(),
        _ => false,
    }
}

/// For how long within that time the children that a task waited for waited for answers.
fn asked_ns(index: &RunIndex, tid: u32, (from_ns, to_ns): (u64, u64), generations: u32) -> u64 {
    let within = |start_ns: u64, end_ns: u64| (start_ns.max(from_ns), end_ns.min(to_ns));
    let waits = index.rows_between(tid, from_ns, to_ns).map(|(_, row)| row).filter(|row| row.kind == StallKind::OffCpu);
    let children = waits.filter(|row| index.awaits(row) == Some(Awaits::Child));
    let of_child = |child: u32, span: (u64, u64)| {
        let rows = index.rows_between(child, span.0, span.1).map(|(_, row)| row);
        let answers = rows.filter(|row| row.kind == StallKind::OffCpu && is_for_other(index, row));
        let ns = |start_ns: u64, end_ns: u64| end_ns.min(span.1).saturating_sub(start_ns.max(span.0));
        let own_ns = answers.map(|row| ns(row.start_ns, row.end_ns)).fold(0, u64::saturating_add);
        match generations {
            0 => own_ns,
            _ => own_ns.max(asked_ns(index, child, span, generations - 1)),
        }
    };
    let of_wait = |row: &Row| {
        let child = index.waker(row)?;
        Some(of_child(child, within(row.start_ns, row.end_ns)))
    };
    // Rows of a damaged run may overlap.
    children.filter_map(of_wait).fold(0, u64::saturating_add)
}
