//! Waits for a journal or for writeback whose end the recording does not show.

use model::cause::Cause;
use model::effect::Edge;
use model::wait_kind::WaitKind;

use super::change::Change;
use crate::waits::{Path, Waits};

/// Part of the time without a known end that the known ones must have at least: fewer say little.
const LEAST: f64 = 0.1;

/// Lets waits for a journal, a log, a transaction or writeback that lead to no request shrink as those do that lead to
/// one.
///
/// *Assumes* that what they wait for is written to the same disk, and waits there for the same: for what is known
/// behind other such waits, else for what the operations' own requests wait for.
pub(super) fn assume(waits: &Waits, change: &Change, remaining: &mut [f64]) {
    if matches!(change, Change::Refaults(_)) {
        return;
    }
    let times = times(waits);
    let mean = |is_meant: &dyn Fn(&Path) -> bool| {
        let meant = || waits.paths.iter().zip(&times).zip(&*remaining).filter(|((path, _), _)| is_meant(path));
        let all_ns: f64 = meant().map(|((_, ns), _)| ns).sum();
        let left_ns: f64 = meant().map(|((_, ns), remains)| ns * remains).sum();
        (all_ns, left_ns / all_ns.max(1.0))
    };
    let (unknown_ns, _) = mean(&is_without_end);
    let behind = mean(&|path| ends_at_disk(path) && path.iter().any(|step| is_of_writes(step.cause)));
    if unknown_ns <= behind.0 {
        // Its own work, between requests.
        return;
    }
    let enough = |of: &(f64, f64)| of.0 > 0.0 && of.0 >= LEAST * unknown_ns;
    let known = Some(behind).filter(enough).or_else(|| Some(mean(&ends_at_disk)).filter(enough));
    let Some((_, remains)) = known else { return };
    let without_end = waits.paths.iter().zip(&mut *remaining).filter(|(path, _)| is_without_end(path));
    without_end.for_each(|(_, left)| *left = left.min(remains));
}

/// The time on each path, ns.
fn times(waits: &Waits) -> Vec<f64> {
    let mut times = vec![0.0; waits.paths.len()];
    for &(path, ns) in waits.operations.iter().flat_map(|operation| &operation.pieces) {
        times[path as usize] += ns as f64;
    }
    times
}

fn is_of_writes(cause: Cause) -> bool {
    Edge::Journal.changes(cause) || cause == Cause::WritebackWait
}

fn is_without_end(path: &Path) -> bool {
    path.last().is_some_and(|step| is_of_writes(step.cause))
}

/// Whether it leads to a request. A journal reads nothing.
fn ends_at_disk(path: &Path) -> bool {
    let is_of_request = |cause| cause == Cause::IoThrottle || Edge::Device.changes(cause);
    path.last().is_some_and(|step| is_of_request(step.cause) && step.kind != Some(WaitKind::Read))
}
