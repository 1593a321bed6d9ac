//! A slow operation on one axis of time: its own time, that of each task that its chain leads through, and their
//! requests.

use std::collections::HashSet;

use model::stall::RequestRecord;

use crate::blame::facts::cause::Cause;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::storage::request::cause_at;
use crate::blame::facts::task_id::TaskId;
use crate::blame::operations::Operation;
use crate::blame::timeline::piece::Piece;
use crate::blame::timeline::timelines::TaskTimelines;
use crate::blame::verdict::explanation::{Link, RequestLife};
use crate::blame::verdict::request_life::lifecycle;

/// Requests at most: the longest.
const REQUESTS: usize = 12;
/// Rows of one task that are searched for requests.
const ROWS: usize = 4096;
/// Pieces of a lane at most; of more, each step of time has the cause of most of it.
const STEPS: usize = 240;

/// The lanes of a slow operation. Where nothing is recorded, a lane has a gap.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lanes {
    /// The operation's own task, then the tasks of its chain.
    pub tasks: Vec<TaskLane>,
    /// Requests that these tasks waited for, in order of time.
    pub requests: Vec<RequestLane>,
    /// Shorter requests that are left out.
    pub more_requests: u64,
}

/// What a task did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskLane {
    /// The task.
    pub task: TaskId,
    /// Pieces in order of time.
    pub pieces: Vec<Piece>,
}

/// The stages of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLane {
    /// The request.
    pub request: RequestLife,
    /// Pieces in order of time.
    pub pieces: Vec<Piece>,
}

/// The lanes of an operation with that chain.
pub(crate) fn lanes(
    index: &RunIndex,
    operation: &Operation,
    chain: &[Link],
    timelines: &mut TaskTimelines<'_>,
) -> Lanes {
    let (from_ns, to_ns) = (operation.start_ns, operation.end_ns);
    let mut tasks: Vec<TaskLane> = Vec::new();
    let mut seen = HashSet::new();
    let victim = index.tasks.thread(operation.tid, to_ns, &index.names);
    for task in std::iter::once(victim).chain(chain.iter().filter_map(|link| link.task.clone())) {
        if !seen.insert(task.tid) {
            continue;
        }
        let timeline = if tasks.is_empty() { timelines.of(operation) } else { timelines.get(task.tid) };
        let segments = timeline.between(from_ns, to_ns);
        let pieces = segments.map(|one| Piece { cause: one.cause, start_ns: one.start_ns, end_ns: one.end_ns });
        let pieces = drawn(pieces, from_ns, to_ns);
        if !pieces.is_empty() {
            tasks.push(TaskLane { task, pieces });
        }
    }
    let tids: Vec<u32> = tasks.iter().map(|lane| lane.task.tid).collect();
    let mut records = requests(index, operation, &tids);
    let within_ns =
        |record: &RequestRecord| record.completed_ns.min(to_ns).saturating_sub(record.began_ns().clamp(from_ns, to_ns));
    records.sort_by_key(|record| (std::cmp::Reverse(within_ns(record)), record.request));
    let more_requests = records.len().saturating_sub(REQUESTS) as u64;
    records.truncate(REQUESTS);
    records.sort_by_key(|record| (record.began_ns(), record.request));
    let lane = |record: &RequestRecord| RequestLane {
        request: lifecycle(index, record),
        pieces: joined(stages(record, from_ns, to_ns)),
    };
    Lanes { tasks, requests: records.into_iter().map(lane).collect(), more_requests }
}

/// The requests that these tasks waited for within the operation, and those below them.
fn requests<'a>(index: &'a RunIndex, operation: &Operation, tids: &[u32]) -> Vec<&'a RequestRecord> {
    let (from_ns, to_ns) = (operation.start_ns, operation.end_ns);
    let of_task = |tid: &u32| index.rows_between(*tid, from_ns, to_ns).take(ROWS).map(|(_, row)| row);
    let rows = tids.iter().flat_map(of_task).chain(operation.asynchronous.map(|row| index.row(row)));
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for row in rows {
        let mut next = index.request(row);
        while let Some(record) = next.filter(|record| seen.insert(record.request)) {
            if record.began_ns() < to_ns && record.completed_ns > from_ns {
                found.push(record);
            }
            next = index.lower(record);
        }
    }
    found
}

/// The stages of a request between two moments.
fn stages(record: &RequestRecord, from_ns: u64, to_ns: u64) -> Vec<Piece> {
    let mut borders: Vec<u64> = record.moments().chain([record.completed_ns]).collect();
    borders.iter_mut().for_each(|at_ns| *at_ns = (*at_ns).clamp(from_ns, to_ns));
    borders.sort_unstable();
    let pairs = borders.windows(2).filter(|pair| pair[0] < pair[1]);
    let piece = |pair: &[u64]| Some(Piece { cause: cause_at(record, pair[0])?, start_ns: pair[0], end_ns: pair[1] });
    pairs.filter_map(piece).collect()
}

/// Joins neighbours of one cause.
fn joined(pieces: impl IntoIterator<Item = Piece>) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::new();
    for piece in pieces {
        match joined.last_mut() {
            Some(last) if last.cause == piece.cause && last.end_ns == piece.start_ns => last.end_ns = piece.end_ns,
            _ => joined.push(piece),
        }
    }
    joined
}

/// Pieces as they can be drawn.
fn drawn(pieces: impl Iterator<Item = Piece>, from_ns: u64, to_ns: u64) -> Vec<Piece> {
    let pieces = joined(pieces);
    if pieces.len() <= STEPS {
        return pieces;
    }
    let step_ns = (to_ns - from_ns).div_ceil(STEPS as u64).max(1);
    let mut steps = vec![[0u64; Cause::ALL.len()]; STEPS];
    for piece in &pieces {
        let mut at_ns = piece.start_ns;
        while at_ns < piece.end_ns {
            let step = (at_ns - from_ns) / step_ns;
            let until_ns = piece.end_ns.min(from_ns.saturating_add((step + 1) * step_ns));
            steps[step as usize][piece.cause as usize] += until_ns - at_ns;
            at_ns = until_ns;
        }
    }
    let step = |(at, times): (u64, &[u64; Cause::ALL.len()])| {
        let cause = Cause::ALL.into_iter().max_by_key(|&cause| times[cause as usize])?;
        let start_ns = from_ns.saturating_add(at * step_ns);
        // More of it may be unknown.
        let is_known = times.iter().sum::<u64>() * 2 >= step_ns;
        is_known.then_some(Piece { cause, start_ns, end_ns: to_ns.min(start_ns.saturating_add(step_ns)) })
    };
    joined((0..).zip(&steps).filter_map(step).filter(|piece| piece.start_ns < piece.end_ns))
}

#[cfg(test)]
mod tests {
    use super::{Cause, Piece, STEPS, drawn, joined};

    fn piece(cause: Cause, start_ns: u64, end_ns: u64) -> Piece {
        Piece { cause, start_ns, end_ns }
    }

    #[test]
    fn neighbours_of_one_cause_are_joined_and_gaps_stay() {
        let of = |start_ns, end_ns| piece(Cause::Device, start_ns, end_ns);
        assert_eq!(joined([of(0, 5), of(5, 9), of(10, 12)]), [of(0, 9), of(10, 12)]);
    }

    #[test]
    fn of_very_many_pieces_each_step_has_the_cause_of_most_of_it() {
        // 9 of 10 ns are the device's, but nothing is known after the first half.
        let end_ns = 10_000 * 10;
        let pieces = (0..5_000u64).flat_map(|at| {
            let at = at * 10;
            [piece(Cause::Device, at, at + 9), piece(Cause::CpuWait, at + 9, at + 10)]
        });
        let drawn = drawn(pieces, 0, end_ns);
        let step_ns = end_ns.div_ceil(STEPS as u64);
        assert!(drawn.len() == 1 && drawn[0].cause == Cause::Device, "{drawn:?}");
        assert!(drawn[0].end_ns.abs_diff(end_ns / 2) <= step_ns, "{drawn:?}");
    }
}
