//! A recorded request as events of a block trace.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use archive::Run;
use model::block::{Action, BlockEvent, Kind};
use model::stall::RequestRecord;

/// The sector of a request that has none: a command of a driver or a program.
const NO_SECTOR: u64 = u64::MAX;

/// The events of a request's life whose moments are known, in order.
pub fn of(request: &RequestRecord) -> impl Iterator<Item = BlockEvent> + use<> {
    let is_passthrough = request.sector == NO_SECTOR || request.kind.has(Kind::PASSTHROUGH);
    let template = BlockEvent {
        sector: if request.sector == NO_SECTOR { 0 } else { request.sector },
        bytes: request.bytes,
        pid: request.tid,
        error: request.errno.map_or(0, |errno| errno.unsigned_abs() as u16),
        kind: if is_passthrough { request.kind.with(Kind::PASSTHROUGH) } else { request.kind },
        ..BlockEvent::new(0, Action::Queue, request.device)
    };
    let moments = [
        (request.queued_ns, Action::Queue),
        (request.got_ns, Action::GetRequest),
        (request.inserted_ns, Action::Insert),
        (request.issued_ns, Action::Issue),
        (Some(request.completed_ns), Action::Complete),
    ];
    let event = move |(at_ns, action): (Option<u64>, Action)| {
        // A command is no bio: it is not queued.
        let is_of_bio = matches!(action, Action::Queue | Action::GetRequest);
        let time_ns = at_ns.filter(|_| !(is_passthrough && is_of_bio))?;
        Some(BlockEvent { time_ns, action, ..template })
    };
    moments.into_iter().filter_map(event)
}

/// A request's first moment that is known, as its queueing, and its completion.
pub fn ends_of(request: &RequestRecord) -> impl Iterator<Item = BlockEvent> + use<> {
    let mut events = of(request);
    let last = events.by_ref().last();
    let first = last.map(|last| BlockEvent { time_ns: request.began_ns(), action: Action::Queue, ..last });
    first.into_iter().chain(last)
}

/// Events of requests, which are recorded by their completion, in the order of time.
#[derive(Default)]
pub struct InOrder {
    /// By time, then in the order of a request's life; the rest orders simultaneous events.
    waiting: BinaryHeap<Reverse<(u64, u8, u32, Event)>>,
}

/// The heap does not compare events.
struct Event(BlockEvent);

impl PartialEq for Event {
    fn eq(&self, _: &Event) -> bool {
        true
    }
}
impl Eq for Event {}
impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Event) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Event {
    fn cmp(&self, _: &Event) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl InOrder {
    /// Adds events of a request, in order.
    pub fn add(&mut self, request: u32, events: impl Iterator<Item = BlockEvent>) {
        for (order, event) in (0..).zip(events) {
            self.waiting.push(Reverse((event.time_ns, order, request, Event(event))));
        }
    }

    /// The next event before a moment.
    pub fn next_before(&mut self, end_ns: u64) -> Option<BlockEvent> {
        self.waiting.peek().filter(|Reverse(next)| next.0 < end_ns)?;
        self.waiting.pop().map(|Reverse((.., Event(event)))| event)
    }
}

/// Passes the events of all requests of a run in the order of time; returns how many requests there are. A first pass
/// finds the earliest event of each batch, so that the second buffers as little as possible. Damaged batches are
/// skipped: a run notes its own damage.
pub fn each(run: &Run, mut take: impl FnMut(&BlockEvent)) -> u64 {
    let earliest =
        |rows: &Vec<RequestRecord>| rows.iter().flat_map(of).map(|event| event.time_ns).min().unwrap_or(u64::MAX);
    let begins_ns: Vec<u64> = run.requests().flatten().map(|rows| earliest(&rows)).collect();
    let (mut waiting, mut requests) = (InOrder::default(), 0);
    for (batch, rows) in run.requests().flatten().enumerate() {
        requests += rows.len() as u64;
        rows.iter().for_each(|request| waiting.add(request.request, of(request)));
        let safe_ns = begins_ns.get(batch + 1..).and_then(|later| later.iter().min()).copied().unwrap_or(u64::MAX);
        while let Some(event) = waiting.next_before(safe_ns) {
            take(&event);
        }
    }
    while let Some(event) = waiting.next_before(u64::MAX) {
        take(&event);
    }
    requests
}
