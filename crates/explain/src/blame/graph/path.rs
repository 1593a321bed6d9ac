//! The path of a wait that another task ended: what that task did before, up to its own wait for yet another task, and
//! so on back in time, until the wait began. A client's wait thus leads through its server, whether that hands the work
//! over to a thread or to another server.

use std::sync::Arc;

use model::stall::{Awaits, StallKind};

use crate::blame::facts::cause::{Cause, Evidence};

use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::run_index::answers::PROXY;
use crate::blame::graph::edge::{ended_by, leads_on};
use crate::blame::graph::hops::Hops;
use crate::blame::graph::segment::{NO_ROW, Segment, TaskTimeline, Via};
use crate::blame::intents::interruptions::choice::{is_timer, sleeps_by_choice};
use crate::blame::intents::locks::since::{needed_since_ns, series_began_ns};
use crate::blame::intents::requests::not_received::is_not_received;
use crate::blame::intents::requests::starters;
use crate::blame::rule::{Example, Rule};
use crate::thresholds::SOON_NS;

pub(crate) const WAKER: Rule = Rule {
    id: "waits-for-what-its-waker-did",
    concludes: "What a wait was for that another task ended is what that task did meanwhile: its own waits, back to \
                where it waited for yet another one.",
    from: "The task that ended the wait, its rows in that time, and the tasks that ended those.",
    because: "A server, a worker or a holder of a lock lets others wait for exactly as long as it takes itself. What \
              it waits for, they wait for.",
    unless: "The waker idled before it: we do not follow an idle task. Time that no row covers stays unexplained.",
    example: Example {
        timeline: "
            off 7 |  ssssssssssss  | call=recvfrom awaits=answer waker=9
            off 9 |ss ssssssssss ss| call=epoll_wait awaits=message waker=8
            off 8 |sss             | call=futex stack=futex_do_wait awaits=thread waker=9
            off 8 |    ssssssss    | stack=xfs_log_force
            off 8 |             sss| call=futex stack=futex_do_wait awaits=thread waker=9",
        causes: "fs_log 8, unexplained 4",
        chain: "thread 7: fs_log 8 < thread 8: fs_log 8",
    },
};

pub(crate) const HOLDER: Rule = Rule {
    id: "holder-keeps-others-waiting",
    concludes: "Behind a server that waits for a lock of user space, all time in which the holder waited for nothing \
                known is the wait for the lock.",
    from: "A wait for a lock that a wait leads through, since its first attempt, and what the task did that released \
           it.",
    because: "A server that waits for a lock is not idle, whatever the holder does: only that it held the lock \
              matters.",
    unless: "The holder waits for storage or for a CPU: then that is what both wait for.",
    example: Example {
        timeline: "
            off 7 |  ssssssssssss  | call=poll awaits=answer waker=9
            off 9 |   ssssssssss   | call=epoll_wait awaits=lock waker=8
            off 8 |sssssssssssss   | call=recvfrom awaits=message waker=6
            off 6 |ssssssssssss    | call=clock_nanosleep awaits=interrupt",
        causes: "lock 20, unexplained 2",
        chain: "thread 7: lock 10 < thread 9: lock 10 < thread 8: unexplained 10 < thread 6: unexplained 10",
    },
};

/// Segments of one task that are read at most, the latest first.
const SEGMENTS: usize = 4096;

/// The path of that row, in order of time: it covers the row until its wakeup. `timeline_of` gives what a task did by
/// its own rows alone. Time that no task explains has the row's own cause.
pub(crate) fn path(index: &RunIndex, row: u32, timeline_of: impl FnMut(u32) -> Arc<TaskTimeline>) -> Vec<Segment> {
    path_since(index, row, index.row(row).start_ns, timeline_of)
}

/// The same since an earlier moment, when the wait began that the row is the end of.
pub(crate) fn path_since(
    index: &RunIndex,
    row: u32,
    from_ns: u64,
    mut timeline_of: impl FnMut(u32) -> Arc<TaskTimeline>,
) -> Vec<Segment> {
    let wait = index.row(row);
    let ended_by = ended_by(index, wait, (wait.start_ns, wait.runnable_ns));
    let mut next = ended_by.filter(|_| index.applies(&WAKER));
    let not_received = next.is_some_and(|server| is_not_received(index, wait, server));
    let mut path = Path { from_ns, ..Path::new(index, row, not_received) };
    let mut hops = Hops::default();
    path.asked_ns = index.asked_ns(wait).filter(|_| index.awaits(wait) == Some(Awaits::Answer) && !not_received);
    while let Some(tid) = next.filter(|_| hops.may_go_on(path.until_ns)) {
        path.pass_back(tid);
        next = match path.back_through(tid, &timeline_of(tid)) {
            Next::Waits(None) if path.bounds.is_empty() => None,
            Next::Waits(waker) => waker.or_else(|| path.back_to_waiting()),
            Next::Unknown => path.on_to_starter(tid).or_else(|| path.back_to_waiting()),
        };
    }
    path.put_lock(from_ns);
    path.put_wait(from_ns);
    path.segments.reverse();
    path.segments
}

/// How a path through a task ends.
enum Next {
    /// The task waited for another one, if that is known and has work.
    Waits(Option<u32>),
    /// Nothing is known of what it did before: it began meanwhile, or did not wait for long.
    Unknown,
}

/// A wait for a lock of user space.
#[derive(Debug, Clone, Copy)]
struct Lock {
    row: u32,
    /// A timer may have interrupted it since.
    began_ns: u64,
}

/// A path that grows back in time.
struct Path<'a> {
    index: &'a RunIndex,
    row: u32,
    /// How it leads to what is put next.
    via: Via,
    /// The wait for a lock of user space that the path leads through: a server that waits for one is not idle, whatever
    /// the holder does.
    lock: Option<Lock>,
    /// The server did not hear of the request: what it waited for instead is what kept this wait waiting.
    not_received: bool,
    /// When the task that it leads to next was asked, if perhaps that passed the request on.
    asked_ns: Option<u64>,
    /// It leads through the client that the server waited for instead.
    of_slow_client: bool,
    /// It leads through a task that waited for any message: what the sender did before is not followed.
    through_idle: bool,
    /// All after this is known.
    until_ns: u64,
    /// The latest first.
    segments: Vec<Segment>,
    /// What tasks did before is of no interest here.
    from_ns: u64,
    /// The tasks that it led through, and when each began to wait for the next one.
    before: Vec<(u32, u64)>,
    /// Of those of which it is known since when they needed the next one: what to go back to.
    bounds: Vec<Bound>,
}

/// What a task did before it was needed is not followed. The path goes on with the task that then began to need it.
struct Bound {
    /// Tasks that the path led through up to the one that needed the next.
    count: usize,
    through_idle: bool,
    from_ns: u64,
    lock: Option<Lock>,
    /// The proxy that passes an answer back until then, and when it had asked for that.
    passed_on: Option<(u32, u64)>,
}

impl Path<'_> {
    fn new(index: &RunIndex, row: u32, not_received: bool) -> Path<'_> {
        let wait = index.row(row);
        Path {
            index,
            row,
            via: Via::Waker,
            lock: None,
            not_received,
            asked_ns: None,
            of_slow_client: false,
            through_idle: false,
            until_ns: wait.runnable_ns,
            segments: Vec::new(),
            from_ns: wait.start_ns,
            before: Vec::new(),
            bounds: Vec::new(),
        }
    }

    /// The task that waited for the last one of the path: what it did before that is known, unless the last one idled,
    /// and may have worked for others.
    fn back_to_waiting(&mut self) -> Option<u32> {
        let bound = self.bounds.pop();
        if let Some(bound) = &bound {
            self.before.truncate(bound.count);
            self.through_idle = bound.through_idle;
            self.from_ns = bound.from_ns;
            self.asked_ns = bound.passed_on.map(|(_, asked_ns)| asked_ns);
        }
        let (tid, since_ns) = self.before.pop().filter(|_| !self.through_idle)?;
        self.put_lock(since_ns);
        self.put_gap(since_ns);
        if let Some(bound) = bound {
            self.lock = bound.lock;
        }
        Some(tid)
    }

    /// Of a task that began meanwhile: on to the one that started it, as of then. A sleep in which the starter is when
    /// the other one acts began after that.
    fn on_to_starter(&mut self, tid: u32) -> Option<u32> {
        let index = self.index;
        let starter = index.starter_after(tid, self.from_ns).filter(|_| index.applies(&starters::RULE))?;
        if starter == index.row(self.row).tid || self.before.iter().any(|(before, _)| *before == starter) {
            return None;
        }
        let mut waits = index.rows_between(starter, self.from_ns, self.until_ns).map(|(_, row)| row);
        let since = waits.find(|row| row.kind == StallKind::OffCpu && row.end_ns >= self.until_ns);
        self.put_gap(since.map_or(self.until_ns, |row| row.start_ns.max(self.from_ns)));
        self.via = Via::Starter;
        Some(starter)
    }

    /// Goes no further back than to when the last task that it led through began to need the next one.
    fn go_back_to(&mut self, asked_ns: Option<u64>) {
        let Some(asked_ns) = asked_ns.filter(|asked_ns| *asked_ns > self.from_ns) else { return };
        let Path { through_idle, from_ns, lock, .. } = *self;
        self.bounds.push(Bound { count: self.before.len(), through_idle, from_ns, lock, passed_on: None });
        self.from_ns = asked_ns;
    }

    fn put(&mut self, from_ns: u64, cause: Cause, evidence: Evidence, by: u32) {
        if from_ns < self.until_ns {
            let (start_ns, end_ns) = (from_ns, std::mem::replace(&mut self.until_ns, from_ns));
            self.segments.push(Segment {
                start_ns,
                end_ns,
                cause,
                evidence,
                off: self.row,
                by,
                ran: 0,
                via: Some(self.via),
            });
        }
    }

    /// What that task waited for, or did itself.
    fn put_done(&mut self, done: &Segment, tid: u32) {
        let may_idle = |row: u32| self.is_for_answer() && self.index.may_idle(self.index.row(row));
        let is_unknown = done.cause == Cause::Unexplained && (done.off == NO_ROW || self.is_for_room());
        if is_unknown || done.row().is_some_and(may_idle) {
            return self.put_gap(done.start_ns);
        }
        let known = self.segments.len();
        self.put(done.start_ns, done.cause, done.evidence, done.row().unwrap_or(NO_ROW));
        let ran = if done.cause == Cause::Running { tid } else { 0 };
        self.segments[known..].iter_mut().for_each(|segment| segment.ran = ran);
    }

    /// Time that no task explains.
    fn put_wait(&mut self, from_ns: u64) {
        let (cause, evidence) = self.index.asleep(self.index.row(self.row), from_ns);
        self.put(from_ns, cause, evidence, NO_ROW);
    }

    /// Time of which nothing is known. A wait for room is for the other end, whatever that does.
    fn put_gap(&mut self, from_ns: u64) {
        match self.is_for_room() {
            true => self.put_wait(from_ns),
            false => self.put(from_ns, Cause::Unexplained, Evidence::None, NO_ROW),
        }
    }

    fn is_for_room(&self) -> bool {
        self.index.awaits(self.index.row(self.row)) == Some(Awaits::Room)
    }

    fn is_for_answer(&self) -> bool {
        self.index.awaits(self.index.row(self.row)) == Some(Awaits::Answer)
    }

    /// Time of the wait for a lock in which its holder did not wait for anything known.
    fn put_lock(&mut self, from_ns: u64) {
        if let Some(lock) = self.lock.filter(|_| self.index.applies(&HOLDER)) {
            let (cause, evidence) = self.index.asleep(self.index.row(lock.row), from_ns);
            let via = std::mem::replace(&mut self.via, Via::Holder);
            self.put(from_ns.max(lock.began_ns), cause, evidence, lock.row);
            self.via = via;
        }
    }

    /// A holder that waits for a lock itself keeps those waiting who began before. What is known of these is why they
    /// waited, as far as it goes back.
    fn wait_for_lock(&mut self, row: u32) {
        let began_ns = series_began_ns(self.index, self.index.row(row));
        if self.lock.is_none_or(|outer| outer.began_ns > began_ns.max(self.from_ns)) {
            self.lock = Some(Lock { row, began_ns });
        }
    }

    /// If a server passed the request on: the path goes back through it to the answer that it received, then on with
    /// the server behind it.
    fn pass_back(&mut self, proxy: u32) {
        let asked_ns = self.asked_ns.take().filter(|_| self.index.applies(&PROXY));
        let own = asked_ns.and_then(|asked_ns| self.index.answers.passed_on(proxy, asked_ns, self.until_ns));
        let Some(own) = own else { return };
        self.via = Via::Proxy;
        self.before.push((proxy, own.asked_ns));
        self.go_back_to(Some(own.asked_ns));
        self.before.push((own.server, own.sent_ns));
        self.go_back_to(Some(own.sent_ns));
        if let Some(bound) = self.bounds.last_mut().filter(|_| self.from_ns == own.sent_ns) {
            bound.passed_on = Some((proxy, own.asked_ns));
        }
    }

    /// Whether a proxy that passes an answer back waits for whatever comes next: other requests are in flight.
    fn is_beside_answer(&self, tid: u32, segment: &Segment) -> bool {
        let passes_back = self.bounds.iter().any(|bound| bound.passed_on.is_some_and(|(proxy, _)| proxy == tid));
        passes_back && self.index.awaits(self.index.row(segment.off)).is_some_and(Awaits::is_idle)
    }

    /// Whom the task waited for there; `None` if what it did before kept this wait waiting all the same.
    fn hand_over(&mut self, tid: u32, segment: &Segment, is_for_lock: bool) -> Option<Next> {
        let (index, asleep) = (self.index, self.index.row(segment.off));
        let waker = ended_by(index, asleep, (segment.start_ns, segment.end_ns));
        // A timer or an interrupt ended that sleep.
        if !is_for_lock && (waker.is_none() || ends_a_lock(index, tid, segment, waker)) {
            self.put_wait(segment.start_ns);
            return None;
        }
        self.before.push((tid, segment.start_ns));
        self.go_back_to(needed_since_ns(index, asleep));
        if index.awaits(asleep) == Some(Awaits::Message) {
            self.of_slow_client = std::mem::take(&mut self.not_received);
            self.via = if self.of_slow_client { Via::NotReceived } else { self.via };
            self.through_idle |= !self.of_slow_client;
        }
        if index.awaits(asleep) == Some(Awaits::Lock) {
            self.wait_for_lock(segment.off);
        }
        let waker = waker.filter(|&waker| waker != index.row(self.row).tid);
        Some(Next::Waits(waker))
    }

    fn sleeps_by_choice(&self, segment: &Segment) -> bool {
        let (index, wait) = (self.index, self.index.row(self.row));
        let Some(sleep) = (segment.off != NO_ROW).then(|| index.row(segment.off)) else { return false };
        let of_timer = || segment.cause == Cause::Unexplained && is_timer(index, sleep);
        sleeps_by_choice(index, wait, sleep, (segment.cause, segment.evidence)) || (self.of_slow_client && of_timer())
    }

    /// Back to where the wait began, or to where this task itself waited for another one, which is returned then. A
    /// task that waited for this very wait's task had no work before.
    fn back_through(&mut self, tid: u32, timeline: &TaskTimeline) -> Next {
        let index = self.index;
        let wait = index.row(self.row);
        let awaits_lock = index.awaits(wait) == Some(Awaits::Lock);
        for segment in timeline.latest(self.from_ns, self.until_ns).take(SEGMENTS) {
            if awaits_lock {
                self.put_wait(segment.end_ns);
            }
            self.put_lock(segment.end_ns);
            self.put_gap(segment.end_ns);
            // Of the holder of a lock, only that it held the lock matters.
            let is_for_lock = self.lock.is_some() || awaits_lock;
            let is_by_choice = || self.sleeps_by_choice(&segment);
            if !is_for_lock && !self.through_idle && is_by_choice() {
                let by_choice = if self.of_slow_client { Via::NotReceived } else { Via::Choice };
                let via = std::mem::replace(&mut self.via, by_choice);
                self.put(segment.start_ns, Cause::Sleep, Evidence::Event, segment.off);
                self.via = via;
                continue;
            }
            if hands_over(index, &segment) && !self.is_beside_answer(tid, &segment) {
                match self.hand_over(tid, &segment, is_for_lock) {
                    Some(next) => return next,
                    None => continue,
                }
            }
            // Whatever else the holder of a lock did, the wait was for the lock.
            if awaits_lock && !segment.cause.is_wait() {
                self.put_wait(segment.start_ns);
            }
            if !segment.cause.is_wait() {
                self.put_lock(segment.start_ns);
            }
            self.put_done(&segment, tid);
        }
        Next::Unknown
    }
}

/// Whether a short wait follows one for a lock, which the same task ended: it was still letting go.
fn ends_a_lock(index: &RunIndex, tid: u32, segment: &Segment, waker: Option<u32>) -> bool {
    let is_short = segment.ns() < SOON_NS && index.awaits(index.row(segment.off)) != Some(Awaits::Lock);
    let from_ns = segment.start_ns.saturating_sub(SOON_NS);
    let is_lock = |row: &Row| {
        index.awaits(row) == Some(Awaits::Lock) && row.runnable_ns - row.start_ns > SOON_NS && index.waker(row) == waker
    };
    is_short && waker.is_some() && index.rows_between(tid, from_ns, segment.start_ns).any(|(_, row)| is_lock(row))
}

/// Whether a task did nothing there but wait for another one. One that is stopped waits for nobody.
pub(crate) fn hands_over(index: &RunIndex, segment: &Segment) -> bool {
    let asleep = (segment.off != NO_ROW && segment.by == NO_ROW).then(|| index.row(segment.off));
    asleep.is_some_and(|row| index.awaits_task(row) && leads_on(index, row, segment.cause))
}
