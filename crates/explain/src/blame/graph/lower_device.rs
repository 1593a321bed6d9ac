//! What is below a loop device: the worker that serves it, and the file system and the disk that hold its file. So it
//! is with a disk of the network (NBD), whose server is on this machine, and with a path of multipath.

use model::stall::RequestRecord;

use crate::blame::facts::cause::Cause;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::disks::{LOOP_MAJOR, NETWORK_MAJOR};
use crate::blame::facts::storage::request::cause_at;
use crate::thresholds::DEVICE_LAYERS;

/// What served a request at such a device for a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
    pub(crate) by: Served<'a>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Served<'a> {
    /// The device's worker, which slept: its row.
    Worker(u32),
    /// A request of the disk below, in this stage.
    Lower(Cause, &'a RequestRecord),
    /// Neither is known.
    Device,
}

/// Whether something below may be known.
pub(crate) fn is_served(request: &RequestRecord) -> bool {
    let has_lower = request.parts.as_deref().is_some_and(|parts| parts.lower.is_some());
    has_lower || matches!(request.device.major(), LOOP_MAJOR | NETWORK_MAJOR)
}

/// What served a request between two moments at which it was at its device. The parts are in order of time and without
/// gaps. Empty where nothing below is known.
pub(crate) fn parts<'a>(index: &'a RunIndex, request: &'a RequestRecord, from_ns: u64, to_ns: u64) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    if is_served(request) {
        add_parts(index, request, (from_ns, to_ns), DEVICE_LAYERS, &mut parts);
    }
    let is_known = parts.iter().any(|part| !matches!(part.by, Served::Device));
    if is_known { parts } else { Vec::new() }
}

fn add_parts<'a>(
    index: &'a RunIndex,
    request: &'a RequestRecord,
    (from_ns, to_ns): (u64, u64),
    depth: usize,
    parts: &mut Vec<Part<'a>>,
) {
    let lower = index.lower(request);
    let workers = index.workers_between(request.device, from_ns, to_ns);
    let mut borders = vec![from_ns, to_ns];
    borders.extend(workers.iter().flat_map(|&(start_ns, end_ns, _)| [start_ns, end_ns]));
    borders.extend(lower.into_iter().flat_map(|lower| lower.moments().chain([lower.completed_ns])));
    borders.retain(|at| (from_ns..=to_ns).contains(at));
    borders.sort_unstable();
    borders.dedup();
    for pair in borders.windows(2) {
        let (from_ns, to_ns) = (pair[0], pair[1]);
        let asleep = workers.iter().find(|&&(start_ns, end_ns, _)| start_ns <= from_ns && to_ns <= end_ns);
        let by = served_at(lower, asleep.map(|&(.., row)| row), from_ns);
        match by {
            Served::Lower(Cause::Device, lower) if depth > 0 && is_served(lower) => {
                add_parts(index, lower, (from_ns, to_ns), depth - 1, parts);
            }
            by => parts.push(Part { from_ns, to_ns, by }),
        }
    }
}

/// The request below knows more than the worker, which may sleep for another request by then. Before the request below
/// existed, the worker had not submitted it, or a limit held it.
fn served_at(lower: Option<&RequestRecord>, asleep: Option<u32>, at_ns: u64) -> Served<'_> {
    let began = lower.filter(|lower| (lower.began_ns()..lower.completed_ns).contains(&at_ns));
    let held = lower.filter(|lower| lower.throttled && at_ns < lower.began_ns());
    match (began, asleep, held) {
        (Some(lower), ..) | (None, None, Some(lower)) => {
            Served::Lower(cause_at(lower, at_ns).unwrap_or(Cause::Device), lower)
        }
        (None, Some(row), _) => Served::Worker(row),
        (None, None, None) => Served::Device,
    }
}

/// The request whose stages had that cause: this one, or one below it.
pub(crate) fn with_cause<'a>(index: &'a RunIndex, request: &'a RequestRecord, cause: Cause) -> &'a RequestRecord {
    let mut served = request;
    for _ in 0..DEVICE_LAYERS {
        if cause == Cause::Device || (cause == Cause::IoThrottle && served.throttled) {
            return served;
        }
        let Some(lower) = index.lower(served) else { break };
        served = lower;
    }
    request
}

/// What served a request for most of the time between two moments.
pub(crate) fn longest<'a>(
    index: &'a RunIndex,
    request: &'a RequestRecord,
    from_ns: u64,
    to_ns: u64,
) -> Option<Part<'a>> {
    let known = parts(index, request, from_ns, to_ns).into_iter().filter(|part| !matches!(part.by, Served::Device));
    known.max_by_key(|part| part.to_ns - part.from_ns)
}
