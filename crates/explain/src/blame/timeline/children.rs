//! Waits for children whose own stalls are listed.

use crate::blame::facts::cause::Cause;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::graph::segment::{NO_ROW, Segment};
use crate::blame::operations::Operation;
use crate::blame::operations::busy_times::BusyTimes;
use crate::blame::timeline::timelines::TaskTimelines;
use model::stall::Awaits;

/// Drops waits for a child at least half of whose stalled time is that of other operations in the list: of the child
/// itself, or of one that waited for it. No time counts twice. The innermost wait stays: it begins last.
pub(crate) fn drop_listed(index: &RunIndex, timelines: &mut TaskTimelines<'_>, operations: &mut Vec<Operation>) {
    let (mut parents, mut others): (Vec<Operation>, Vec<Operation>) =
        operations.drain(..).partition(|operation| operation.awaits == Some(Awaits::Child));
    parents.sort_by_key(|parent| (std::cmp::Reverse(parent.start_ns), parent.end_ns, parent.tid));
    let pid = |tid: u32, at_ns: u64| index.tasks.pid(tid, at_ns);
    let process = |of: &Operation| (pid(of.tid, of.end_ns).unwrap_or(of.tid), of.start_ns, of.end_ns);
    let of_processes = BusyTimes::of(others.iter().map(process));
    let mut listed = BusyTimes::of(others.iter().map(|other| (other.tid, other.start_ns, other.end_ns)));
    for parent in parents {
        let timeline = timelines.get(parent.tid);
        // Of a child that asked a server it may be unknown what that did.
        let is_stalled = |segment: &Segment| segment.by != NO_ROW || segment.cause == Cause::Unexplained;
        let stalled: Vec<Segment> = timeline.between(parent.start_ns, parent.end_ns).filter(is_stalled).collect();
        let is_listed = |tid: u32, segment: &Segment| listed.overlaps(tid, segment.start_ns, segment.end_ns);
        // The child may itself have waited for a task that has no operation: its server.
        let child = |segment: &Segment| index.waker(index.row(Some(segment.off).filter(|off| *off != NO_ROW)?));
        let by = |segment: &Segment| Some(segment.by).filter(|by| *by != NO_ROW).map(|by| index.row(by).tid);
        let of = |segment: &&Segment| {
            // A thread that waits for the end of another one waits for all that its process does.
            let own = pid(parent.tid, segment.end_ns)
                .filter(|own| child(segment).and_then(|tid| pid(tid, segment.end_ns)) == Some(*own));
            by(segment).is_some_and(|tid| is_listed(tid, segment))
                || child(segment).is_some_and(|tid| is_listed(tid, segment))
                || own.is_some_and(|own| of_processes.overlaps(own, segment.start_ns, segment.end_ns))
        };
        let all_ns: u64 = stalled.iter().map(Segment::ns).sum();
        let listed_ns: u64 = stalled.iter().filter(of).map(Segment::ns).sum();
        let is_new = listed_ns < all_ns - all_ns / 2;
        for segment in &stalled {
            listed.insert(parent.tid, segment.start_ns, segment.end_ns);
            if let Some(tid) = by(segment).filter(|_| is_new) {
                listed.insert(tid, segment.start_ns, segment.end_ns);
            }
        }
        others.extend(is_new.then_some(parent));
    }
    *operations = others;
}
