//! Chains of waits: from a wait through its waker to the waker's own wait, down to a request, an interrupt or work.

use model::stall::{Awaits, RequestRecord, StallKind};

use crate::blame::facts::cause::{Cause, traits};
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::run_index::lock_turns::Held;
use crate::blame::facts::storage::request;
use crate::blame::graph::edge::{self, Edge};
use crate::blame::graph::lower_device::{self, Served};
use crate::blame::graph::segment::{NO_ROW, Segment};
use crate::blame::graph::waker_wait::{WaitsByCause, WakerWait};
use crate::blame::intents::interruptions::choice::is_by_choice;
use crate::blame::intents::locks::holder;
use crate::blame::intents::requests::worked_for::client_of_sleep;
use crate::blame::intents::workers::other_work::{is_of_other_work, may_end};
use crate::thresholds::{CHAIN_TASKS, SMALL_PART};

/// Waits of a waker that are examined, the latest first: its last wait is what it kept others waiting for.
const LOOKED_AT: usize = 256;

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
    let Start { row, cause, .. } = start;
    let mut holder = Holder { last: None, passed_on: None, before: row };
    let mut end = End { tid: None, at_ns: index.row(row).end_ns, request: None, row };
    walk(index, start, |step| match step {
        Step::Waits { row, held, .. } => {
            // Who lets others wait because it wants to sleep.
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
    } else if end.tid.is_none() && cause == Cause::NetworkFs {
        end.tid = server(index, row, end.row);
    }
    end
}

/// The program in user space that a file system asked, and that did not answer, whatever it waits for: the last task of a chain.
fn server(index: &RunIndex, first: u32, last: u32) -> Option<u32> {
    let Row { tid, end_ns, .. } = *index.row(last);
    (last != first && !index.tasks.is_worker(tid, end_ns, &index.names)).then_some(tid)
}

/// The last holder of a lock in a chain that is to blame.
struct Holder {
    last: Option<Held>,
    /// One that waits for its child holds the lock for it: flock(1). So does a server that waits for the rest of what its client
    /// wants, such as the end of a transaction.
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

/// Whether the holder of a lock that a row waits for is to blame, rather than what it waits for itself: it is not if it works for
/// others.
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
pub(crate) fn walk<'a>(index: &'a RunIndex, first: Start, mut visit: impl FnMut(Step<'a>)) {
    let mut seen = Seen::new(first.of);
    seen.insert(index.row(first.row).tid);
    let mut now = (first.row, first.cause, first.span_ns);
    for _ in 0..CHAIN_TASKS {
        let (at, cause, span_ns) = now;
        let row = index.row(at);
        if let Some(stopped) = stopped(row, cause, span_ns) {
            return visit(stopped);
        }
        if !is_followed(index, row, cause) {
            return;
        }
        let described = index.is_of_request(row, cause);
        let ended = index.request(row).filter(|request| may_end(index, request, row, cause));
        let request = ended.filter(|_| cause.has(traits::ENDS_WITH_REQUEST));
        if let Some(request) = request.filter(|request| described || explains(request, row)) {
            let Some(next) = step_request(index, (request, described), now, &mut seen, &mut visit) else { return };
            now = next;
            continue;
        }
        let by = Ender::of(index, row, span_ns, &mut seen);
        let wait = by.wait(index, row, cause);
        // An idle worker acts as soon as a request completes: then the request is what took the time.
        let request = request.or_else(|| ended.filter(|request| explains(request, row)));
        let wait = wait.or_else(|| request.is_none().then(|| by.message(index, row, cause)).flatten());
        match (wait, request) {
            (Some(wait), _) => {
                visit(Step::Waits { row: wait.row, cause: wait.cause, ns: wait.ns, held: by.held() });
                now = (wait.row, wait.cause, by.span_ns().unwrap_or(span_ns));
            }
            (None, Some(request)) => {
                let Some(next) = step_request(index, (request, described), now, &mut seen, &mut visit) else { return };
                now = next;
            }
            (None, None) => return by.works(index, cause).into_iter().for_each(visit),
        }
    }
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

/// Who kept a task waiting, where it is no task of the chain before.
struct Ender(Option<Edge>);

impl Ender {
    fn of(index: &RunIndex, row: &Row, span_ns: (u64, u64), seen: &mut Seen) -> Ender {
        Ender(edge::longest(index, row, span_ns).filter(|edge| seen.insert(edge.tid)))
    }

    fn span_ns(&self) -> Option<(u64, u64)> {
        self.0.map(|edge| (edge.from_ns, edge.to_ns))
    }

    fn held(&self) -> Option<Held> {
        self.0.and_then(|edge| edge.held)
    }

    /// What it waited for in that time itself, if that explains it: what the task waits for that thaws a file system did not freeze it.
    fn wait(&self, index: &RunIndex, by: &Row, cause: Cause) -> Option<WakerWait> {
        let Edge { tid, from_ns, to_ns, held } = self.0?;
        let is_foreign = |row: &Row| held.is_none() && is_of_other_work(index, by, row);
        let wait = longest_wait(index, tid, (from_ns, to_ns), (held.is_some(), &is_foreign))?;
        let explains = cause != Cause::Frozen || wait.cause == Cause::Frozen;
        (explains && wait.ns >= (to_ns - from_ns) / SMALL_PART).then_some(wait)
    }

    /// Its wait for the message that let it act, where the row is such a wait itself, or one for a server in user space: who sent
    /// that message took the time.
    fn message(&self, index: &RunIndex, row: &Row, cause: Cause) -> Option<WakerWait> {
        let Edge { tid, from_ns, to_ns, .. } = self.0?;
        if !cause.has(traits::SERVER) && !index.awaits_task(row) {
            return None;
        }
        let is_it = |row: &Row| index.awaits(row).is_some_and(Awaits::is_idle) && index.waker(row).is_some();
        let mut rows = index.rows_between(tid, from_ns, to_ns).take(LOOKED_AT);
        let (at, last) = rows.find(|(_, row)| row.kind == StallKind::OffCpu && is_it(row))?;
        let ns = last.runnable_ns.min(to_ns).saturating_sub(last.start_ns.max(from_ns));
        (ns >= (to_ns - from_ns) / SMALL_PART).then(|| WakerWait { row: at, cause: index.main_cause(at), ns })
    }

    /// What it did in that time, if it did not wait.
    fn works<'a>(&self, index: &RunIndex, cause: Cause) -> Option<Step<'a>> {
        let Edge { tid, from_ns, to_ns, held } = self.0?;
        // It ended the writeback of its pages, among other work.
        if cause == Cause::WritebackWait && index.tasks.is_worker(tid, to_ns, &index.names) {
            return None;
        }
        Some(Step::Works { tid, at_ns: to_ns, ns: to_ns - from_ns, held })
    }
}

/// Who stopped the task, or froze its cgroup or file system, if that is known.
fn stopped<'a>(row: &Row, cause: Cause, (from_ns, to_ns): (u64, u64)) -> Option<Step<'a>> {
    let is_it = |tid: &u32| cause.has(traits::HALTED) && *tid != row.tid;
    let tid = row.holder_tid.get().filter(is_it)?;
    let ns = row.runnable_ns.min(to_ns).saturating_sub(row.start_ns.max(from_ns));
    Some(Step::Stopped { tid, at_ns: row.start_ns, ns, cause })
}

/// Whether a wait of that cause has a waker that is to blame. Who lets a stopped task go on is not.
fn is_followed(index: &RunIndex, row: &Row, cause: Cause) -> bool {
    // Who will end a wait that lasts is unknown, unless it is for a lock.
    let is_wait = matches!(row.kind, StallKind::OffCpu | StallKind::Asynchronous) || row.lock.get().is_some();
    // A timer wakes a task from whatever other task it interrupts: that one did not act.
    let is_timer = row.lock.get().is_none() && index.awaits(row) == Some(Awaits::Interrupt);
    is_wait && !is_timer && cause != Cause::Stopped && !cause.has(traits::FOR_CPU | traits::CHOSEN)
}

/// Whether most of a request's time was in a stage before the device: what is below the device did not matter.
fn is_own_stage(request: &RequestRecord, cause: Cause) -> bool {
    cause != Cause::Device && request::main_cause(request) == cause
}

/// Visits a request, and what is below that of a loop device. Returns the wait of its worker, from which the chain goes on.
fn step_request<'a>(
    index: &'a RunIndex,
    (request, described): (&'a RequestRecord, bool),
    (at, cause, (from_ns, to_ns)): (u32, Cause, (u64, u64)),
    seen: &mut Seen,
    visit: &mut impl FnMut(Step<'a>),
) -> Option<(u32, Cause, (u64, u64))> {
    visit(Step::Request { request, described });
    if is_own_stage(request, cause) {
        return None;
    }
    let row = index.row(at);
    let part = lower_device::longest(index, request, row.start_ns.max(from_ns), row.runnable_ns.min(to_ns))?;
    match part.by {
        Served::Worker(row) if seen.insert(index.row(row).tid) => {
            let cause = index.main_cause(row);
            visit(Step::Waits { row, cause, ns: part.to_ns - part.from_ns, held: None });
            Some((row, cause, (part.from_ns, part.to_ns)))
        }
        Served::Lower(_, request) => {
            visit(Step::Request { request, described: false });
            None
        }
        Served::Worker(_) | Served::Device => None,
    }
}

/// Whether a wait lasted about as long as the request that ended it. Otherwise the request was the last of many, and its
/// submitter is the better explanation.
fn explains(request: &RequestRecord, row: &Row) -> bool {
    let within_ns = request.completed_ns.saturating_sub(request.began_ns().max(row.start_ns));
    request.throttled || within_ns >= (row.runnable_ns - row.start_ns) / SMALL_PART
}

/// A task's main wait between two moments; `None` where no wait is recorded. While it holds a lock, a task has work.
fn longest_wait(
    index: &RunIndex,
    tid: u32,
    (from_ns, to_ns): (u64, u64),
    (holds, is_foreign): (bool, &dyn Fn(&Row) -> bool),
) -> Option<WakerWait> {
    let mut sleeps = WaitsByCause::default();
    let mut spans = WaitsByCause::default();
    let rows = || index.rows_between(tid, from_ns, to_ns).take(LOOKED_AT);
    // Polls see a wait, too, that is recorded when it ends: it counts once.
    let is_recorded = |poll: &Row| {
        let is_of =
            |row: &Row| row.kind == StallKind::OffCpu && row.start_ns < poll.end_ns && poll.start_ns < row.end_ns;
        poll.kind == StallKind::Blocked && rows().any(|(_, row)| is_of(row))
    };
    for (at, row) in rows().filter(|(_, row)| !is_recorded(row) && !is_foreign(row)) {
        let awaits_work = index.awaits(row).is_some_and(Awaits::is_idle);
        let idle = !holds && (awaits_work || index.stack(row.stack.get()).is_some_and(|stack| stack.idle));
        // An idle task had no work; from its wakeup on it was late.
        let (cause, since_ns) =
            if idle { (row.runnable_cause(), row.runnable_ns) } else { (cause_of_wait(index, at), row.start_ns) };
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

/// What a wait of the chain was for: by its row, or by the choice of its task.
fn cause_of_wait(index: &RunIndex, at: u32) -> Cause {
    match index.main_cause(at) {
        Cause::Unexplained if is_by_choice(index, index.row(at)) => Cause::Sleep,
        cause => cause,
    }
}

/// The row that a segment's chain continues from: the sleep or, where the sleep was for another thread, that thread's row.
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
