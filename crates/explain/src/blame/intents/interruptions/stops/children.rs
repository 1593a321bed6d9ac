//! Tasks that were stopped together with the child that they wait for: a job of a shell, a process group.

use std::cmp::Reverse;

use model::stall::StallKind;
use model::system_call::traits;

use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::stop::Stop;
use crate::blame::rule::{Example, Rule};

pub(crate) const RULE: Rule = Rule {
    id: "stopped-with-its-child",
    concludes: "A task that was stopped in its wait for a child waits for the child that was stopped as well.",
    from: "The call in which the task was stopped, the processes that it started, and their stops.",
    because: "If the parent alone goes on, it waits on, with all that it holds.",
    unless: "Who stopped it is recorded, and named. Or it waits for another child, which runs.",
    example: Example {
        timeline: "
            task     8 |n             | name=tar started_by=flock/9
            op:write 7 |==============|
            off      7 | ssssssssssss | tp=contention_begin lock=1 holder=9 waker=9
            off      9 | ssssssssssss | call=wait4 state=4 waker=3
            off      8 | ssssssssssss | call=write state=4 waker=3",
        causes: "lock 12, running 2",
        chain: "thread 7: lock 12 < thread 9: stopped 12 < tar/8: stopped 12",
    },
};

/// The child that a stopped task waits for, if it was stopped for at least half of that time.
pub(crate) fn stopped_child(index: &RunIndex, row: &Row) -> Option<u32> {
    let is_by_signal = matches!(row.stop, Some(Stop::Signal | Stop::Debugger));
    if !is_by_signal || !index.does(row, traits::WAITS_FOR_CHILD) || !index.applies(&RULE) {
        return None;
    }
    let pid = index.tasks.process_of(row.tid, row.end_ns);
    let stopped = index.tasks.started_by_process(pid, &index.names).map(|child| (stopped_ns(index, row, child), child));
    let longest = stopped.max_by_key(|(ns, child)| (*ns, Reverse(*child)));
    longest.filter(|(ns, _)| *ns >= (row.end_ns - row.start_ns) / 2).map(|(_, child)| child)
}

/// For how long a task was stopped while another one was.
fn stopped_ns(index: &RunIndex, row: &Row, tid: u32) -> u64 {
    let is_stop = |other: &Row| matches!(other.kind, StallKind::OffCpu | StallKind::Blocked) && other.is_stopped();
    let stops = index.rows_between(tid, row.start_ns, row.end_ns).filter(|(_, other)| is_stop(other));
    let both_ns = |other: &Row| other.end_ns.min(row.end_ns).saturating_sub(other.start_ns.max(row.start_ns));
    stops.map(|(_, other)| both_ns(other)).max().unwrap_or(0)
}
