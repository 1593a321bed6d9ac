//! Arrival times of recorded requests, and which requests were caused by completions.

use std::collections::HashMap;

use model::block::Kind;
use model::stall::RequestRecord;

/// A recorded request, with the fields that a replay needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Recorded {
    /// Its task, numbered from 0.
    pub(super) task: u32,
    pub(super) kind: Kind,
    pub(super) sector: u64,
    pub(super) sectors: u32,
    pub(super) queued_ns: u64,
    pub(super) got_ns: u64,
    pub(super) issued_ns: u64,
    pub(super) completed_ns: u64,
}

/// What causes a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// Its time, or a later one if its task cannot submit before.
    Time(u64),
    /// It arrives `gap_ns` after `count` of its task's requests have completed.
    Done { count: u32, gap_ns: u64 },
    /// It arrives `gap_ns` after its task's previous request was allocated.
    Got { gap_ns: u64 },
}

/// How a task submitted its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loop {
    /// Each after completions of its own requests: a reader, or an engine with a fixed queue depth.
    Closed,
    /// As fast as requests were allocated.
    Fed,
    /// At given times.
    Open,
}

/// Arrivals in time order.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    pub(super) requests: Vec<Recorded>,
    pub(super) causes: Vec<Cause>,
    pub(super) loops: Vec<Loop>,
    /// Rows without a time that a replay needs.
    pub(super) unusable: u64,
}

/// Per cent of its requests for which a closed-loop task must have been near its highest queue depth.
const CLOSED_PERCENT: usize = 80;
/// Per cent of its requests for which a fed task must have waited for a tag.
const FED_PERCENT: usize = 5;
/// A request (tag) wait shorter than this does not count.
const WAIT_NS: u64 = 20_000;

/// Finds the arrivals and their causes. Rows of one device, in any order.
pub(super) fn arrivals(rows: &[RequestRecord]) -> Arrivals {
    let mut numbers: HashMap<u32, u32> = HashMap::new();
    let mut requests: Vec<Recorded> = Vec::with_capacity(rows.len());
    for row in rows {
        let entered_ns = row.got_ns.or(row.inserted_ns).or(row.issued_ns);
        let (Some(issued_ns), Some(got_ns)) = (row.issued_ns, entered_ns) else { continue };
        let next = numbers.len() as u32;
        let task = *numbers.entry(row.tid).or_insert(next);
        requests.push(Recorded {
            task,
            kind: row.kind,
            sector: row.sector,
            sectors: row.bytes / model::block::SECTOR_BYTES,
            queued_ns: row.queued_ns.unwrap_or(got_ns).min(got_ns),
            got_ns,
            issued_ns,
            completed_ns: row.completed_ns,
        });
    }
    requests.sort_by_key(|request| (request.queued_ns, request.got_ns, request.issued_ns, request.sector));
    let begin_ns = requests.first().map_or(0, |first| first.queued_ns);
    for request in &mut requests {
        for moment in [&mut request.queued_ns, &mut request.got_ns, &mut request.issued_ns, &mut request.completed_ns] {
            *moment = moment.saturating_sub(begin_ns);
        }
    }
    let unusable = (rows.len() - requests.len()) as u64;
    let mut of_tasks: Vec<Vec<usize>> = vec![Vec::new(); numbers.len()];
    requests.iter().enumerate().for_each(|(index, request)| of_tasks[request.task as usize].push(index));
    let mut causes = vec![Cause::Time(0); requests.len()];
    let loops = of_tasks.iter().map(|own| of_task(own, &requests, &mut causes)).collect();
    Arrivals { requests, causes, loops, unusable }
}

/// Finds the causes of one task's requests, whose indices are `own`.
fn of_task(own: &[usize], requests: &[Recorded], causes: &mut [Cause]) -> Loop {
    let mut ends: Vec<u64> = own.iter().map(|&index| requests[index].completed_ns).collect();
    ends.sort_unstable();
    // How many of the task's requests had completed when each arrived.
    let done: Vec<usize> =
        own.iter().map(|&index| ends.partition_point(|end| *end <= requests[index].queued_ns)).collect();
    let in_flight: Vec<usize> = done.iter().enumerate().map(|(place, done)| place - (*done).min(place)).collect();
    // Without the top one in a thousand: opening a file may have added a request.
    let mut ascending = in_flight.clone();
    ascending.sort_unstable();
    let most = ascending.iter().rev().nth(ascending.len() / 1000).copied().unwrap_or(0);
    // An engine's first requests fill its queue; too few requests show nothing.
    let near = in_flight.iter().skip(most).filter(|count| **count * 4 >= most * 3).count();
    let closed = near * 100 >= CLOSED_PERCENT * (own.len() - most.min(own.len())) && own.len() > 2 * most;
    let waited = own.iter().filter(|&&index| requests[index].got_ns - requests[index].queued_ns > WAIT_NS).count();
    let fed = waited * 100 >= FED_PERCENT * own.len() && own.len() > 1;
    let kind = match (closed, fed) {
        (true, _) => Loop::Closed,
        (false, true) => Loop::Fed,
        (false, false) => Loop::Open,
    };
    let mut before: Option<&Recorded> = None;
    for (place, &index) in own.iter().enumerate() {
        let request = &requests[index];
        let count = done[place].min(place);
        causes[index] = match (kind, before) {
            (Loop::Closed, _) if count > 0 => {
                Cause::Done { count: count as u32, gap_ns: request.queued_ns - ends[count - 1] }
            }
            (Loop::Fed, Some(before)) => Cause::Got { gap_ns: request.queued_ns.saturating_sub(before.got_ns) },
            _ => Cause::Time(request.queued_ns),
        };
        before = Some(request);
    }
    kind
}

#[cfg(test)]
mod tests {
    use model::block::{DeviceNumber, Kind};
    use model::stall::RequestRecord;

    use super::{Cause, Loop, arrivals};

    fn row(tid: u32, queued_ns: u64, got_ns: u64, completed_ns: u64) -> RequestRecord {
        RequestRecord {
            request: 0,
            device: DeviceNumber::new(7, 0),
            sector: queued_ns,
            bytes: 4096,
            kind: Kind::from_rwbs(b"R").unwrap(),
            tid,
            merges: 0,
            queued_ns: Some(queued_ns),
            got_ns: Some(got_ns),
            inserted_ns: Some(got_ns),
            issued_ns: Some(got_ns),
            completed_ns,
            errno: None,
            throttled: false,
            parts: None,
            in_flight: Vec::new(),
            overtaken_by: Vec::new(),
        }
    }

    #[test]
    fn a_reader_submits_after_its_own_completion() {
        let rows = [row(5, 100, 100, 150), row(5, 170, 170, 250), row(5, 300, 300, 310)];
        let found = arrivals(&rows);
        assert_eq!(found.loops, [Loop::Closed]);
        let after = |count, gap_ns| Cause::Done { count, gap_ns };
        assert_eq!(found.causes, [Cause::Time(0), after(1, 20), after(2, 50)]);
    }

    #[test]
    fn an_engine_of_depth_two() {
        let rows: Vec<RequestRecord> = (0..20).map(|n| row(5, n * 50, n * 50, n * 50 + 99)).collect();
        let found = arrivals(&rows);
        assert_eq!(found.loops, [Loop::Closed]);
        assert_eq!(found.causes[2..4], [Cause::Done { count: 1, gap_ns: 1 }, Cause::Done { count: 2, gap_ns: 1 }]);
    }

    #[test]
    fn bursts_are_open_and_writeback_is_fed() {
        let bursts: Vec<RequestRecord> = (0..40)
            .map(|n| row(5, n / 10 * 100_000 + n % 10, n / 10 * 100_000 + n % 10, n * 10_000 + 50_000))
            .collect();
        assert_eq!(arrivals(&bursts).loops, [Loop::Open]);
        let fed: Vec<RequestRecord> =
            (0..40).map(|n| row(5, n * 50_000 + 1, n * 50_000 + 50_000, n * 50_000 + 50_000 + n * n * 900)).collect();
        let found = arrivals(&fed);
        assert_eq!(found.loops, [Loop::Fed]);
        assert_eq!(found.causes[3], Cause::Got { gap_ns: 1 });
    }

    #[test]
    fn a_row_that_was_never_issued_is_counted() {
        let rows = [RequestRecord { issued_ns: None, ..row(5, 0, 0, 9) }, row(5, 10, 10, 19)];
        let found = arrivals(&rows);
        assert_eq!((found.unusable, found.requests.len()), (1, 1));
    }
}
