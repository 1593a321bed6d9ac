//! The recorded waits once more, with one kind of them changed.

use std::collections::HashMap;

use model::cause::Cause;
use model::effect::Edge;

use super::change::{Change, concerns, is_absorbed_by_limit, raised_limit, remains};
use super::closed_loop::Simulation;
use super::ends;
use super::outcomes::Outcomes;
use super::residual::Residuals;
use super::throttle::SLICE_NS;
use crate::waits::{Waiting, Waits};

/// An operation after a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Replayed {
    /// Its number in [`Waits::operations`].
    pub operation: usize,
    /// Start: earlier by what the thread's operations before it no longer take.
    pub start_ns: u64,
    /// Duration, ns.
    pub duration_ns: u64,
    /// The same if all unexplained time were of the changed kind, ns.
    pub at_least_ns: u64,
    /// The part of it that is also another operation's, whose task waited for this one, 0 to 1.
    pub again: f64,
    /// Whether the time at the device of a throttled request had to be assumed.
    pub assumed: bool,
}

/// The operations after a change, in the same order. Those of an absent process or cgroup are left out.
/// `simulation`: what the loops under a limit do after it.
pub(super) fn replay(waits: &Waits, change: &Change, simulation: &Simulation) -> Vec<Replayed> {
    let mut remaining: Vec<f64> = waits.paths.iter().map(|path| remains(change, path)).collect();
    ends::assume(waits, change, &mut remaining);
    let present = waits.operations.iter().filter(|operation| !is_absent(waits, operation, change));
    let residuals = Residuals::of(waits, change, &remaining, present);
    let mut saved_ns: HashMap<u32, Saved> = HashMap::new();
    let mut slices: HashMap<u32, Slices> = HashMap::new();
    let mut outcomes = Outcomes::of(waits, simulation);
    let mut replayed = Vec::with_capacity(waits.operations.len());
    for (number, operation) in waits.operations.iter().enumerate() {
        if is_absent(waits, operation, change) {
            continue;
        }
        let slices = slices.entry(operation.tid).or_default();
        let by_rule = duration(waits, operation, change, (&remaining, &residuals, slices));
        let (duration_ns, assumed) = outcomes.next(waits, operation).map_or(by_rule, |ns| (ns, false));
        let saved = saved_ns.entry(operation.tid).or_default();
        let before_ns = operation.duration_ns();
        replayed.push(Replayed {
            operation: number,
            start_ns: operation.start_ns.saturating_sub(saved.until(operation.start_ns)),
            duration_ns,
            at_least_ns: duration_ns - unexplained(waits, operation).min(duration_ns),
            again: again(operation, (duration_ns != before_ns).then_some(&remaining)),
            assumed,
        });
        saved.add(operation.start_ns + before_ns, before_ns.saturating_sub(duration_ns));
    }
    replayed
}

/// The part of an operation that is also another one's, after a change that leaves so much of each path.
fn again(operation: &Waiting, remaining: Option<&Vec<f64>>) -> f64 {
    if operation.again.is_empty() {
        return 0.0;
    }
    let left = |pieces: &[(u32, u64)]| {
        pieces.iter().map(|(path, ns)| *ns as f64 * remaining.map_or(1.0, |left| left[*path as usize])).sum::<f64>()
    };
    let all = left(&operation.pieces);
    if all > 0.0 { (left(&operation.again) / all).min(1.0) } else { 0.0 }
}

/// Time that a thread saved. Operations that overlap (asynchronous ones) do not move one another.
#[derive(Debug, Default)]
struct Saved {
    total_ns: u64,
    end_ns: u64,
    last_ns: u64,
}

impl Saved {
    fn until(&self, start_ns: u64) -> u64 {
        if start_ns >= self.end_ns { self.total_ns } else { self.total_ns - self.last_ns }
    }

    fn add(&mut self, end_ns: u64, ns: u64) {
        if end_ns > self.end_ns {
            (self.end_ns, self.last_ns) = (end_ns, ns);
            self.total_ns += ns;
        }
    }
}

fn is_absent(waits: &Waits, operation: &Waiting, change: &Change) -> bool {
    let Change::Absent(absence) = change else { return false };
    // A culprit's cgroup may be that of a limit, in another hierarchy than the operation's (version 1): one process
    // needs none.
    let cgroup = operation.cgroup.and_then(|number| waits.names.get(number as usize));
    let is_in_cgroup = absence.cgroup.as_ref().is_none_or(|wanted| cgroup == Some(wanted));
    absence.has(waits, operation.tid) && (absence.pid.is_some() || is_in_cgroup)
}

fn unexplained(waits: &Waits, operation: &Waiting) -> u64 {
    let is_unexplained = |path: u32| waits.paths[path as usize].iter().any(|step| step.cause == Cause::Unexplained);
    operation.pieces.iter().filter(|(path, _)| is_unexplained(*path)).map(|(_, ns)| ns).sum()
}

/// An operation's duration after a change, and whether part of it is assumed.
fn duration(
    waits: &Waits,
    operation: &Waiting,
    change: &Change,
    (remaining, residuals, slices): (&[f64], &Residuals, &mut Slices),
) -> (u64, bool) {
    if !concerns(change, waits, operation) || operation.since_throttled_ns.is_some() && is_absorbed_by_limit(change) {
        return (operation.duration_ns(), false);
    }
    let (mut total_ns, mut throttled_ns, mut factor) = (residuals.left(operation), 0, None);
    for &(path, ns) in operation.pieces.iter().filter(|(path, _)| !residuals.has(*path)) {
        match raised_limit(change, &waits.paths[path as usize]) {
            Some(raised) => (throttled_ns, factor) = (throttled_ns + ns, Some(raised)),
            None => total_ns += ns as f64 * remaining[path as usize],
        }
    }
    let is_of_limit = matches!(change, Change::Edge { effect, .. } if effect.edge == Edge::IoLimit);
    if let Some(factor) = factor {
        total_ns += slices.wait((throttled_ns, operation.since_throttled_ns.unwrap_or(0)), factor);
    }
    let assumed_ns = if is_of_limit { u64::from(operation.unknown_requests) * waits.device_ns.unwrap_or(0) } else { 0 };
    let now_ns = (total_ns.round() as u64 + assumed_ns).min(operation.duration_ns());
    (now_ns, is_of_limit && operation.unknown_requests > 0)
}

/// What a limit lets a task wait for at a higher rate, from one operation to the next.
#[derive(Debug, Default)]
struct Slices {
    /// Throttled operations since the last that waits, and what they would wait for, ns.
    since: Option<(f64, f64)>,
}

impl Slices {
    /// A limit that is used up serves at its rate: from one throttled wait to the end of the next passes a time that
    /// its size and the rate give. At `factor` times the rate that time is shorter; what the task spends elsewhere is
    /// not.
    ///
    /// blk-throttle serves in slices: an operation that fits into the budget does not wait, one that does not waits for
    /// the next slice. A higher limit has budget for `factor` times as many: one of `factor` waits, for what is left of
    /// the slice by then.
    fn wait(&mut self, (wait_ns, elsewhere_ns): (u64, u64), factor: f64) -> f64 {
        let (wait, mut elsewhere) = (wait_ns as f64, elsewhere_ns as f64);
        if wait > SLICE_NS {
            // A large request waits for its own size. The limit keeps what was not used before for a slice.
            elsewhere = elsewhere.min(SLICE_NS);
        }
        let share = ((wait + elsewhere) / factor - elsewhere).max(0.0);
        if wait_ns == 0 || share >= SLICE_NS {
            return share;
        }
        // At first half of them were: of all moments of a slice at which a recording can begin, the mean.
        let (operations, owed) = self.since.unwrap_or((factor / 2.0, share * factor / 2.0));
        let (operations, owed) = (operations + 1.0, owed + share);
        let waits = operations >= factor;
        self.since = Some(if waits { (operations - factor, 0.0) } else { (operations, owed) });
        if waits { owed } else { 0.0 }
    }
}
