//! Asynchronous operations: what each waited for between its submission and its completion, whatever its task did.

use model::stall::{RequestRecord, StallKind};

use crate::blame::facts::cause::{Cause, Evidence};
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::request;
use crate::blame::graph::segment::{NO_ROW, Segment, TaskTimeline};

/// Operations of a process that are examined, the latest first.
const LOOKED_AT: usize = 256;

/// The time of an asynchronous operation, whose row is `at`. `worker`: what the thread that executed it did.
pub(crate) fn timeline(index: &RunIndex, at: u32, worker: Option<&TaskTimeline>) -> TaskTimeline {
    let row = index.row(at);
    let request = index.request(row);
    let borders = borders(index, row, request);
    let mut segments = Vec::with_capacity(borders.len());
    for pair in borders.windows(2) {
        let (start_ns, end_ns) = (pair[0], pair[1]);
        let piece =
            |cause, evidence, off| Segment { start_ns, end_ns, cause, evidence, off, by: NO_ROW, ran: 0, via: None };
        if let Some(cause) = stage(request, start_ns) {
            segments.push(piece(cause, Evidence::Event, at));
        } else if let Some(worker) = worker {
            // Where nothing is known of the worker, its completion came from the kernel.
            fill(worker, piece(Cause::IoWorker, Evidence::Event, at), &mut segments);
        } else {
            let (cause, evidence, off) = of_submitter(index, row, at, start_ns, request.is_some());
            segments.push(piece(cause, evidence, off));
        }
    }
    TaskTimeline::new(segments)
}

/// All moments at which its state may change, in order.
fn borders(index: &RunIndex, row: &Row, request: Option<&RequestRecord>) -> Vec<u64> {
    let mut borders: Vec<u64> = request.into_iter().flat_map(RequestRecord::moments).collect();
    borders.extend(request.map(|request| request.completed_ns));
    let sleeps = index.rows_between(row.tid, row.start_ns, row.end_ns);
    let sleeps = sleeps.filter(|(_, other)| other.kind == StallKind::OffCpu);
    borders.extend(sleeps.flat_map(|(_, other)| [other.start_ns, other.runnable_ns, other.end_ns]));
    borders.extend(index.lossy.iter().flat_map(|&(from_ns, to_ns)| [from_ns, to_ns]));
    borders.retain(|at_ns| (row.start_ns..row.end_ns).contains(at_ns));
    borders.extend([row.start_ns, row.end_ns]);
    borders.sort_unstable();
    borders.dedup();
    borders
}

fn stage(request: Option<&RequestRecord>, at_ns: u64) -> Option<Cause> {
    request.filter(|request| at_ns < request.completed_ns).and_then(|request| request::cause_at(request, at_ns))
}

/// What a worker did in the time of that segment, which stays as it is where nothing is known of the worker.
pub(crate) fn fill(worker: &TaskTimeline, whole: Segment, segments: &mut Vec<Segment>) {
    let mut now_ns = whole.start_ns;
    let unknown = |start_ns, end_ns| Segment { start_ns, end_ns, ..whole };
    for segment in worker.between(whole.start_ns, whole.end_ns) {
        if segment.start_ns > now_ns {
            segments.push(unknown(now_ns, segment.start_ns));
        }
        now_ns = segment.end_ns;
        segments.push(segment);
    }
    if now_ns < whole.end_ns {
        segments.push(unknown(now_ns, whole.end_ns));
    }
}

/// Before its request is queued and after it completed, the operation is the submitter's work: it may sleep in the
/// system call, or be slow to take the completion.
fn of_submitter(index: &RunIndex, row: &Row, at: u32, at_ns: u64, has_request: bool) -> (Cause, Evidence, u32) {
    let mut rows = index.rows_between(row.tid, at_ns, at_ns + 1);
    let sleep = rows.find(|(_, other)| other.kind == StallKind::OffCpu && other.end_ns > at_ns);
    let (cause, evidence) = match sleep {
        Some((_, sleep)) if at_ns >= sleep.runnable_ns && has_request => (sleep.runnable_cause(), Evidence::Event),
        Some((_, sleep)) => index.asleep(sleep, at_ns),
        None if !has_request => (Cause::IoWorker, Evidence::Event),
        None if index.traced && !index.is_lossy(at_ns) => (Cause::Running, Evidence::Event),
        None => (Cause::Unexplained, Evidence::None),
    };
    match sleep {
        // It did something else in the meantime.
        _ if matches!(cause, Cause::IoWorker) || (!has_request && !cause.is_wait()) => {
            (Cause::IoWorker, Evidence::Event, at)
        }
        Some((sleep, _)) => (cause, evidence, sleep),
        None => (cause, evidence, NO_ROW),
    }
}

/// The operation of a process whose completion most probably ended a wait for completions: the last to complete in it,
/// else one that was in flight all the time.
pub(crate) fn awaited(index: &RunIndex, row: &Row) -> Option<u32> {
    let pid = index.tasks.process_of(row.tid, row.end_ns);
    let all = index.asynchronous_of(pid);
    let begun = &all[..all.partition_point(|&at| index.row(at).start_ns < row.runnable_ns)];
    let latest = begun.iter().rev().copied().take(LOOKED_AT);
    let in_flight = latest.filter(|&at| index.row(at).end_ns > row.start_ns);
    let ended_within = |at: u32| index.row(at).end_ns <= row.end_ns;
    in_flight.max_by_key(|&at| (ended_within(at), index.row(at).end_ns, at))
}
