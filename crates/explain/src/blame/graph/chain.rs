//! Chains of waits: from a wait through its waker to the waker's own wait, down to a request, an interrupt or work.

use model::stall::{Awaits, RequestRecord};

use crate::blame::facts::cause::Cause;
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::run_index::lock_turns::Held;
use crate::blame::facts::storage::request;
use crate::blame::graph::edge::Edge;
use crate::blame::graph::follow::{Bounds, Ended, Follower, Wait, follow};
use crate::blame::graph::lower_device::{self, Part, Served};
use crate::blame::graph::segment::{NO_ROW, Segment};
use crate::blame::graph::waker_wait::WakerWait;
use crate::blame::intents::interruptions::choice::is_by_choice;
use crate::blame::intents::interruptions::stops::children;
use crate::blame::intents::locks::holder;
use crate::blame::intents::requests::worked_for::client_of_sleep;
use crate::thresholds::CHAIN_TASKS;

/// Where a chain of waits ends.
#[derive(Debug, Clone)]
pub(crate) struct End<'a> {
    /// The last task that waited or ran, and when.
    pub(crate) tid: Option<u32>,
    pub(crate) at_ns: u64,
    pub(crate) request: Option<&'a RequestRecord>,
    /// The row whose detail names the object (`super_cache_scan of xfs on 7,0`).
    pub(crate) row: u32,
}

/// The end of a chain of waits.
pub(crate) fn end(index: &RunIndex, start: Start) -> End<'_> {
    let row = start.row;
    let mut holder = Holder { last: None, passed_on: None, before: row };
    let mut end = End { tid: None, at_ns: index.row(row).end_ns, request: None, row };
    walk(index, start, |step| match step {
        Step::Waits { row, held, .. } => {
            // A task that lets others wait because it wants to sleep.
            let by = Some(index.row(row)).filter(|by| is_by_choice(index, by));
            end = End { tid: by.map(|by| by.tid), at_ns: by.map_or(end.at_ns, |by| by.end_ns), row, ..end };
            holder.waits(index, row, held);
        }
        Step::Request { request, .. } => end.request = Some(request),
        Step::Stopped { tid, at_ns, .. } => (end.tid, end.at_ns) = (Some(tid), at_ns),
        Step::Works { tid, at_ns, held, .. } => {
            (end.tid, end.at_ns) = (Some(tid), at_ns);
            holder.works(index, tid, held);
        }
    });
    // Whatever it waited for itself: it kept others waiting with the lock.
    if let Some(Held { tid, to_ns, .. }) = holder.last.or(holder.passed_on) {
        return End { tid: Some(tid), at_ns: to_ns, ..end };
    }
    if let Some(request) = end.request {
        if request.throttled {
            // The task that released it is not its submitter. The limit is taken to be that of the waiting task.
            let last = index.row(end.row);
            return End { tid: Some(last.tid), at_ns: last.end_ns, ..end };
        }
        // The kernel's own worker submits a request after a flush: the task that waits stands for the submitter.
        let last = index.row(end.row);
        (end.tid, end.at_ns) = match request.submitter() {
            None if request::begins_with_flush(request) => (Some(last.tid), last.end_ns),
            submitter => (submitter, request.completed_ns),
        };
    } else {
        end.tid = end.tid.or_else(|| behind(index, start, end.row));
    }
    end
}

/// Who is behind the last wait of a chain, which leads to nobody.
fn behind(index: &RunIndex, start: Start, last: u32) -> Option<u32> {
    match start.cause {
        Cause::NetworkFs => server(index, start.row, last),
        Cause::Lock => client_of_holder(index, start.of, last),
        _ => None,
    }
}

/// The client for which a server sleeps with a lock, in its transaction: the last task of a chain through a lock.
fn client_of_holder(index: &RunIndex, victim: u32, last: u32) -> Option<u32> {
    let sleep = Some(index.row(last)).filter(|sleep| sleep.tid != victim)?;
    client_of_sleep(index, sleep).filter(|client| *client != victim)
}

/// The program in user space that a file system asked, and that did not answer, whatever it waits for: the last task of
/// a chain.
fn server(index: &RunIndex, first: u32, last: u32) -> Option<u32> {
    let Row { tid, end_ns, .. } = *index.row(last);
    (last != first && !index.tasks.is_worker(tid, end_ns, &index.names)).then_some(tid)
}

/// The last holder of a lock in a chain that is to blame.
struct Holder {
    last: Option<Held>,
    /// One that waits for its child holds the lock for it: flock(1). So does a server that waits for the rest of what
    /// its client wants, such as the end of a transaction.
    passed_on: Option<Held>,
    /// The row of the step before.
    before: u32,
}

impl Holder {
    fn waits(&mut self, index: &RunIndex, row: u32, held: Option<Held>) {
        let waits = index.row(row);
        let is_server = is_for_request(index, index.row(self.before)) || index.answers.has(waits.tid);
        let held = held.or(self.passed_on.map(|held| Held { tid: waits.tid, ..held }));
        // Whose transaction it is has what the server locks for it.
        let client = is_for_request(index, index.row(self.before)).then(|| client_of_sleep(index, waits)).flatten();
        let held = held.map(|held| Held { tid: client.unwrap_or(held.tid), ..held });
        let passes_on = match index.awaits(waits) {
            Some(Awaits::Child) => true,
            None => children::stopped_child(index, waits).is_some(),
            // Who will send the rest is known where somebody did.
            Some(Awaits::Message) => is_server && index.waker(waits).is_some(),
            _ => false,
        };
        self.passed_on = held.filter(|_| passes_on);
        self.works_with(index, held.filter(|_| !passes_on));
        self.before = row;
    }

    fn works(&mut self, index: &RunIndex, tid: u32, held: Option<Held>) {
        let held = held.or(self.passed_on.map(|held| Held { tid, ..held }));
        self.passed_on = None;
        self.works_with(index, held);
    }

    fn works_with(&mut self, index: &RunIndex, held: Option<Held>) {
        self.last = held.filter(|held| is_to_blame(index, self.before, held)).or(self.last);
    }
}

/// Whether it is a wait for a lock for the sake of a client's request: rows and tables of a database.
fn is_for_request(index: &RunIndex, row: &Row) -> bool {
    index.awaits(row) == Some(Awaits::Lock) && index.asked_ns(row).is_some()
}

/// Whether the holder of a lock that a row waits for is to blame, rather than what it waits for itself: it is not if it
/// works for others.
fn is_to_blame(index: &RunIndex, row: u32, held: &Held) -> bool {
    let makes_room = index.stack(index.row(row).stack.get()).is_some_and(|stack| stack.makes_room);
    !makes_room && !index.tasks.is_worker(held.tid, held.to_ns, &index.names)
}

/// Where a chain begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    /// Whose operation it is.
    of: u32,
    row: u32,
    cause: Cause,
    /// The time in which the row matters.
    span_ns: (u64, u64),
}

impl Start {
    /// At a row, all of which matters.
    pub(crate) fn at(index: &RunIndex, row: u32, cause: Cause) -> Start {
        let of = index.row(row);
        Start { of: of.tid, row, cause, span_ns: (holder::since_ns(index, of), of.runnable_ns) }
    }

    /// The same for a task that waited for the row's task in its own sleep.
    pub(crate) fn of_sleep(self, index: &RunIndex, sleep: u32) -> Start {
        let Start { of, span_ns, .. } = Start::at(index, sleep, self.cause);
        self.of(of, span_ns)
    }

    /// The same for a task, within a time.
    pub(crate) fn of(self, tid: u32, (from_ns, to_ns): (u64, u64)) -> Start {
        Start { of: tid, span_ns: (self.span_ns.0.max(from_ns), self.span_ns.1.min(to_ns)), ..self }
    }
}

/// A step of a chain.
pub(crate) enum Step<'a> {
    /// `held`: its task held the lock that the step before waited for.
    Waits { row: u32, cause: Cause, ns: u64, held: Option<Held> },
    /// `described`: the wait for the request already describes its lifecycle.
    Request { request: &'a RequestRecord, described: bool },
    /// It stopped the task, or froze its cgroup or file system.
    Stopped { tid: u32, at_ns: u64, ns: u64, cause: Cause },
    /// It ended the wait before, without a wait of its own in these last `ns`.
    Works { tid: u32, at_ns: u64, ns: u64, held: Option<Held> },
}

/// Visits each step after the row itself. Of each, only the time counts in which the step before waited for it.
pub(crate) fn walk<'a>(index: &'a RunIndex, first: Start, visit: impl FnMut(Step<'a>)) {
    let mut seen = Seen::new(first.of);
    seen.insert(index.row(first.row).tid);
    let start = Wait { row: first.row, cause: first.cause, span_ns: first.span_ns };
    follow(index, &mut Line { index, seen, visit }, &start, Bounds::CHAIN);
}

/// One line of waits.
struct Line<'a, V> {
    index: &'a RunIndex,
    seen: Seen,
    visit: V,
}

impl<'a, V: FnMut(Step<'a>)> Follower<'a> for Line<'a, V> {
    type Did = Wait;

    fn span_ns(&self, did: &Wait) -> (u64, u64) {
        did.span_ns
    }

    fn wait(&self, did: &Wait) -> Option<Wait> {
        Some(*did)
    }

    fn is_new(&mut self, edge: &Edge) -> bool {
        self.seen.insert(edge.tid)
    }

    fn did(&mut self, wait: &Wait, edge: &Edge, main: Option<WakerWait>, _from_ns: u64) -> Vec<Wait> {
        let Edge { tid, from_ns, to_ns, held } = *edge;
        if let Some(WakerWait { row, cause, ns }) = main {
            (self.visit)(Step::Waits { row, cause, ns, held });
            return vec![Wait { row, cause, span_ns: (from_ns, to_ns) }];
        }
        // It ended the writeback of its pages, among other work.
        if wait.cause != Cause::WritebackWait || !self.index.tasks.is_worker(tid, to_ns, &self.index.names) {
            (self.visit)(Step::Works { tid, at_ns: to_ns, ns: edge.ns(), held });
        }
        Vec::new()
    }

    fn enter(&mut self, _did: &Wait, _edge: &Edge) {}

    fn leave(&mut self) {}

    /// Visits a request, and what is below that of a loop device.
    fn request(&mut self, wait: &Wait, Ended { request, described }: Ended<'a>, bounds: Bounds) -> u64 {
        let (index, row, (from_ns, to_ns)) = (self.index, self.index.row(wait.row), wait.span_ns);
        (self.visit)(Step::Request { request, described });
        let is_own = is_own_stage(request, wait.cause);
        let (from_ns, to_ns) = (row.start_ns.max(from_ns), row.runnable_ns.min(to_ns));
        match lower_device::longest(index, request, from_ns, to_ns).filter(|_| !is_own) {
            Some(Part { by: Served::Lower(_, request), .. }) => {
                (self.visit)(Step::Request { request, described: false });
            }
            Some(Part { by: Served::Worker(row), from_ns, to_ns }) if self.seen.insert(index.row(row).tid) => {
                let cause = index.main_cause(row);
                (self.visit)(Step::Waits { row, cause, ns: to_ns - from_ns, held: None });
                follow(index, self, &Wait { row, cause, span_ns: (from_ns, to_ns) }, bounds);
            }
            _ => {}
        }
        wait.span_ns.1
    }

    fn stopped(&mut self, wait: &Wait, tid: u32) {
        let (row, (from_ns, to_ns)) = (self.index.row(wait.row), wait.span_ns);
        let ns = row.runnable_ns.min(to_ns).saturating_sub(row.start_ns.max(from_ns));
        (self.visit)(Step::Stopped { tid, at_ns: row.start_ns, ns, cause: wait.cause });
    }

    fn rest(&mut self, _ns: u64) {}
}

/// The tasks of a chain. A step adds at most two.
struct Seen([u32; 2 + 2 * CHAIN_TASKS], usize);

impl Seen {
    fn new(first: u32) -> Seen {
        Seen([first; 2 + 2 * CHAIN_TASKS], 1)
    }

    /// `false` for one that was seen before.
    fn insert(&mut self, tid: u32) -> bool {
        let Seen(tids, count) = self;
        let is_new = !tids[..*count].contains(&tid);
        if is_new {
            tids[*count] = tid;
            *count += 1;
        }
        is_new
    }
}

/// Whether most of a request's time was in a stage before the device: what is below the device did not matter.
fn is_own_stage(request: &RequestRecord, cause: Cause) -> bool {
    cause != Cause::Device && request::main_cause(request) == cause
}

/// The row that a segment's chain continues from: the sleep or, where the sleep was for another thread, that thread's
/// row.
pub(crate) fn chain_row(index: &RunIndex, segment: &Segment) -> Option<u32> {
    let is_own = segment.off != NO_ROW && other_thread(index, segment).is_none();
    if is_own { Some(segment.off) } else { segment.row() }
}

/// The thread that the task slept for, where what that thread waited for, or did, is the segment's cause.
pub(crate) fn other_thread(index: &RunIndex, segment: &Segment) -> Option<u32> {
    if segment.ran != 0 {
        return Some(segment.ran);
    }
    let by = (segment.off != NO_ROW && segment.by != NO_ROW).then(|| index.row(segment.by).tid);
    by.filter(|tid| *tid != index.row(segment.off).tid)
}
