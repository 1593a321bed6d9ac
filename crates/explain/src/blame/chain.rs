//! Chains of waits: from a wait through its waker to the waker's own wait, down to a request, an interrupt or work.

use std::collections::{HashMap, HashSet};

use model::stall::{RequestRecord, StallKind};

use super::cause::Cause;
use super::explanation::{Link, RequestLife};
use super::operations::Operation;
use super::request;
use super::rows::Row;
use super::run_index::RunIndex;
use super::timeline::{NO_ROW, Segment, TaskTimeline};
use super::wording::{describe, request_words};

/// Maximum length of a chain.
const LENGTH: usize = 8;
/// Waits of a waker that are examined, the latest first: its last wait is what it kept others waiting for.
const LOOKED_AT: usize = 256;

/// Where a chain of waits ends.
#[derive(Debug, Clone)]
pub(super) struct End<'a> {
    /// The last task that waited or ran, and when.
    pub(super) tid: Option<u32>,
    pub(super) at_ns: u64,
    pub(super) request: Option<&'a RequestRecord>,
    /// The row whose detail names the object (`super_cache_scan of xfs on 7,0`).
    pub(super) row: u32,
}

/// A waker's wait explains the wait that it ended if it lasted at least this fraction (1/8) of it.
const LEAST: u64 = 8;

/// What a waker waited for while others waited for it.
struct WakerWait {
    row: u32,
    cause: Cause,
    ns: u64,
}

/// The end of the chain of waits that starts with a row.
pub(super) fn end(index: &RunIndex, row: u32, cause: Cause) -> End<'_> {
    let mut end = End { tid: None, at_ns: index.row(row).end_ns, request: None, row };
    walk(index, row, cause, |step| match step {
        Step::Waits { row, .. } => end.row = row,
        Step::Request { request, .. } => end.request = Some(request),
        Step::Works { tid, at_ns, .. } => (end.tid, end.at_ns) = (Some(tid), at_ns),
    });
    if let Some(request) = end.request {
        if request.throttled {
            // The task that released it is not its submitter. The limit is taken to be that of the waiting task.
            let last = index.row(end.row);
            return End { tid: Some(last.tid), at_ns: last.end_ns, ..end };
        }
        (end.tid, end.at_ns) = (request.submitter(), request.completed_ns);
    }
    end
}

enum Step<'a> {
    Waits {
        row: u32,
        cause: Cause,
        ns: u64,
    },
    /// `described`: the wait for the request already describes its lifecycle.
    Request {
        request: &'a RequestRecord,
        described: bool,
    },
    Works {
        tid: u32,
        at_ns: u64,
        ns: u64,
    },
}

/// Visits each step after the row itself.
fn walk<'a>(index: &'a RunIndex, first: u32, cause: Cause, mut visit: impl FnMut(Step<'a>)) {
    let mut seen = HashSet::from([index.row(first).tid]);
    let (mut at, mut cause) = (first, cause);
    let limit_ns = index.row(first).start_ns;
    for _ in 0..LENGTH {
        let row = index.row(at);
        if matches!(cause, Cause::CpuWait | Cause::Running) || !matches!(row.kind, StallKind::OffCpu) {
            return;
        }
        let described = index.is_of_request(row, cause);
        let request = index.request(row).filter(|_| ends_with_request(cause));
        if let Some(request) = request.filter(|request| described || explains(request, row)) {
            visit(Step::Request { request, described });
            return;
        }
        let by_interrupt = index.stack(row.waker_stack).is_some_and(|stack| stack.interrupt);
        let waker = row.waker_tid.filter(|&tid| tid != 0 && !by_interrupt && seen.insert(tid));
        let (from_ns, to_ns) = (row.start_ns.max(limit_ns), row.runnable_ns);
        let wait = waker.filter(|_| from_ns < to_ns).and_then(|waker| longest_wait(index, waker, from_ns, to_ns));
        // An idle worker acts as soon as a request completes: then the request is what took the time.
        let request = request.or_else(|| index.request(row).filter(|request| explains(request, row)));
        match (wait.filter(|wait| wait.ns >= (to_ns - from_ns) / LEAST), request, waker) {
            (Some(wait), ..) => {
                visit(Step::Waits { row: wait.row, cause: wait.cause, ns: wait.ns });
                (at, cause) = (wait.row, wait.cause);
            }
            (None, Some(request), _) => {
                visit(Step::Request { request, described });
                return;
            }
            (None, None, Some(waker)) if from_ns < to_ns => {
                visit(Step::Works { tid: waker, at_ns: to_ns, ns: to_ns - from_ns });
                return;
            }
            (None, None, _) => return,
        }
    }
}

/// Whether a wait lasted about as long as the request that ended it. Otherwise the request was the last of many, and its
/// submitter is the better explanation.
fn explains(request: &RequestRecord, row: &Row) -> bool {
    let within_ns = request.completed_ns.saturating_sub(request.began_ns().max(row.start_ns));
    request.throttled || within_ns >= (row.runnable_ns - row.start_ns) / LEAST
}

fn ends_with_request(cause: Cause) -> bool {
    use Cause::{Device, IoThrottle, PageFault, RequestWait, SchedulerQueue, Swap, WritebackWait};
    matches!(cause, Device | IoThrottle | PageFault | RequestWait | SchedulerQueue | Swap | WritebackWait)
}

/// A task's main wait between two moments; `None` where no wait is recorded.
fn longest_wait(index: &RunIndex, tid: u32, from_ns: u64, to_ns: u64) -> Option<WakerWait> {
    let mut sleeps = WaitsByCause::default();
    let mut spans = WaitsByCause::default();
    for (at, row) in index.rows_between(tid, from_ns, to_ns).take(LOOKED_AT) {
        let idle = index.stack(row.stack).is_some_and(|stack| stack.idle);
        // An idle task had no work; from its wakeup on it was late.
        let (cause, since_ns) =
            if idle { (Cause::CpuWait, row.runnable_ns) } else { (index.main_cause(at), row.start_ns) };
        let ns = row.end_ns.min(to_ns).saturating_sub(since_ns.max(from_ns));
        match row.kind {
            StallKind::OffCpu | StallKind::Blocked => sleeps.add(cause, ns, at),
            StallKind::Span if row.announced.is_some() => spans.add(cause, ns, at),
            _ => {}
        }
    }
    // Spans contain sleeps, and sleeps have wakers.
    sleeps.longest().or_else(|| spans.longest()).map(|wait| WakerWait { ns: wait.ns.min(to_ns - from_ns), ..wait })
}

/// Time by cause, and the longest row of each.
#[derive(Default)]
struct WaitsByCause(HashMap<Cause, (u64, u64, u32)>);

impl WaitsByCause {
    fn add(&mut self, cause: Cause, ns: u64, row: u32) {
        if ns == 0 {
            return;
        }
        let (sum_ns, longest_ns, longest) = self.0.entry(cause).or_default();
        *sum_ns += ns;
        if ns > *longest_ns {
            (*longest_ns, *longest) = (ns, row);
        }
    }

    fn longest(self) -> Option<WakerWait> {
        let longest = self.0.into_iter().max_by_key(|(cause, (sum_ns, _, row))| (*sum_ns, *cause, *row));
        longest.map(|(cause, (ns, _, row))| WakerWait { row, cause, ns })
    }
}

/// The chain that starts with an operation's longest wait, and the request at its end.
pub(super) fn of_operation(
    index: &RunIndex,
    operation: &Operation,
    timeline: &TaskTimeline,
) -> (Vec<Link>, Option<RequestLife>) {
    let Some(LongestWait { row, follow: first, cause, ns }) = longest(index, operation, timeline) else {
        return (Vec::new(), None);
    };
    let link = |row: u32, cause: Cause, time_ns: u64| Link {
        task: Some(index.tasks.who(index.row(row).tid, index.row(row).end_ns, &index.names)),
        cause,
        detail: describe(index, index.row(row), cause),
        time_ns,
    };
    let mut chain = vec![Link {
        task: Some(index.tasks.who(operation.tid, operation.end_ns, &index.names)),
        ..link(row, cause, ns)
    }];
    if index.row(row).tid != operation.tid {
        chain.push(link(row, cause, ns));
    }
    let mut last = None;
    walk(index, first, cause, |step| match step {
        Step::Waits { row, cause, ns } => chain.push(link(row, cause, ns)),
        Step::Request { request, described } => {
            last = Some(lifecycle(index, request));
            if !described {
                chain.push(request_link(index, request, chain.last().map_or(0, |link| link.time_ns)));
            }
        }
        Step::Works { tid, at_ns, ns } => chain.push(Link {
            task: Some(index.tasks.who(tid, at_ns, &index.names)),
            cause: Cause::Running,
            detail: Some("no long wait seen".to_owned()),
            time_ns: ns,
        }),
    });
    (chain, last)
}

/// A request as a step, within the time of the wait for it.
fn request_link(index: &RunIndex, request: &RequestRecord, waited_ns: u64) -> Link {
    Link {
        task: Some(lifecycle(index, request).task),
        cause: request::main_cause(request),
        detail: Some(request_words(request)),
        time_ns: if request.throttled { waited_ns } else { request.lived_ns().min(waited_ns) },
    }
}

/// An operation's longest wait.
struct LongestWait {
    /// The most specific row.
    row: u32,
    /// The row that its chain continues from.
    follow: u32,
    cause: Cause,
    ns: u64,
}

/// Pieces smaller than this fraction (1/4096) of an operation are not summed by row, because there may be very many.
const SMALL: u64 = 4096;

fn longest(index: &RunIndex, operation: &Operation, timeline: &TaskTimeline) -> Option<LongestWait> {
    let mut by_row: HashMap<(u32, Cause), LongestWait> = HashMap::new();
    let mut longest_small: Option<LongestWait> = None;
    let mut longest_piece_ns: HashMap<(u32, Cause), u64> = HashMap::new();
    for segment in timeline.between(operation.start_ns, operation.end_ns) {
        let Some(row) = segment.row().filter(|_| segment.cause.is_wait()) else { continue };
        let (cause, ns) = (segment.cause, segment.ns());
        let piece = || LongestWait { row, follow: chain_row(index, &segment).unwrap_or(row), cause, ns };
        if ns < operation.ns() / SMALL {
            if longest_small.as_ref().is_none_or(|longest| longest.ns < ns) {
                longest_small = Some(piece());
            }
            continue;
        }
        let longest_ns = longest_piece_ns.entry((row, cause)).or_default();
        let sum = by_row.entry((row, cause)).or_insert_with(|| LongestWait { ns: 0, ..piece() });
        sum.ns += ns;
        if ns > *longest_ns {
            (*longest_ns, sum.follow) = (ns, piece().follow);
        }
    }
    by_row.into_values().max_by_key(|sum| (sum.ns, sum.cause, sum.row)).or(longest_small)
}

/// The row that a segment's chain continues from: the sleep or, where the sleep was for another thread, that thread's row.
pub(super) fn chain_row(index: &RunIndex, segment: &Segment) -> Option<u32> {
    let is_other_thread =
        segment.off != NO_ROW && segment.by != NO_ROW && index.row(segment.by).tid != index.row(segment.off).tid;
    if is_other_thread || segment.off == NO_ROW { segment.row() } else { Some(segment.off) }
}

/// A request for display.
fn lifecycle(index: &RunIndex, record: &RequestRecord) -> RequestLife {
    RequestLife {
        device: record.device,
        sector: record.sector,
        bytes: record.bytes,
        kind: record.kind,
        task: index.tasks.who(record.tid, record.completed_ns, &index.names),
        queue_ns: request::queue_ns(record),
        device_ns: request::device_ns(record),
        throttled: record.throttled,
        in_flight: record.in_flight.clone(),
        overtaken_by: record.overtaken_by.clone(),
    }
}
