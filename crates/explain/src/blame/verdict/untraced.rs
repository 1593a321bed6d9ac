//! What a recording says nothing certain of, because a source of the tracer was missing, and the time that is
//! unexplained for it.
//!
//! Concludes from the absence of block requests: of a wait that a request ends, only the wait is known. The stack shows
//! a wait for pages, a request or a completion alike whether a limit, a queue, the device or writeback held it, so that
//! none of these is named. Sound because each of these causes is a stage of a request's life. Does not hold for a wait
//! whose limit the cgroup's own counters show ([`crate::blame::facts::cause::Evidence::Correlation`]): that rests on no
//! request.

use model::preflight::{Finding, Subject, capability};
use model::run::RunDescription;

use crate::blame::facts::cause::{Cause, is_hidden};
use crate::blame::facts::missing::Untraced;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::graph::segment::NO_ROW;
use crate::blame::operations::Operation;
use crate::blame::timeline::timelines::TaskTimelines;

/// Whether the disk is a subject that was not traced.
pub(crate) fn hides_disk(run: &[model::preflight::Untraced]) -> bool {
    run.iter().any(|untraced| untraced.subject == Subject::Disk)
}

/// The subjects that the answer would need. The operations of a load are known from the load.
pub(crate) fn untraced(
    run: &[model::preflight::Untraced],
    is_load: bool,
    index: &RunIndex,
    operations: &[Operation],
    timelines: &mut TaskTimelines<'_>,
) -> Vec<Untraced> {
    let of = |subject: Subject| run.iter().find(|untraced| untraced.subject == subject);
    let with_time = |untraced: &model::preflight::Untraced, time_ns: Option<u64>| {
        let model::preflight::Untraced { subject, why, remedy } = untraced.clone();
        Untraced { subject, why, remedy, time_ns }
    };
    if let Some(all) = of(Subject::Operations) {
        let wall_ns = operations.iter().fold(0, |sum: u64, operation| sum.saturating_add(operation.ns()));
        let concerns = !is_load || wall_ns > 0;
        return concerns.then(|| with_time(all, is_load.then_some(wall_ns))).into_iter().collect();
    }
    let Some(disk) = of(Subject::Disk).filter(|_| index.hides_disk) else { return Vec::new() };
    let hidden_ns =
        operations.iter().fold(0, |sum: u64, operation| sum.saturating_add(hidden_ns(index, operation, timelines)));
    (hidden_ns > 0).then(|| with_time(disk, Some(hidden_ns))).into_iter().collect()
}

/// Time of an operation whose cause is hidden.
fn hidden_ns(index: &RunIndex, operation: &Operation, timelines: &mut TaskTimelines<'_>) -> u64 {
    let timeline = timelines.of(operation);
    let segments = timeline.between(operation.start_ns, operation.end_ns);
    let unexplained = segments.filter(|segment| segment.cause == Cause::Unexplained && segment.off != NO_ROW);
    let is_hidden = |at: u32, at_ns: u64| {
        let (cause, evidence) = index.shown_asleep(index.row(at), at_ns);
        is_hidden(cause, evidence)
    };
    unexplained.filter(|segment| is_hidden(segment.off, segment.start_ns)).map(|segment| segment.ns()).sum()
}

/// Without the scheduler's tracepoints, running tasks are unknown.
pub(crate) fn traces_switches(run: &RunDescription) -> bool {
    let misses = |finding: &Finding| finding.is_missing() && finding.capability == capability::SCHEDULER;
    run.trace.is_some() && !run.preflight.iter().any(misses)
}
