//! How waits are followed: from a task's wait to what kept it waiting, to what that task did then, and so on. All who
//! follow waits go this way; they differ in how far, and in whether the longest wait or all of them matter.

use model::stall::RequestRecord;

use crate::blame::facts::cause::{Cause, traits};
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::graph::edge::{self, Edge};
use crate::blame::graph::waker_wait::{self, WakerWait};
use crate::blame::intents::interruptions::stops::children;
use crate::blame::intents::workers::other_work::{is_of_other_work, may_end};
use crate::thresholds::{CHAIN_TASKS, SMALL_PART};

/// How far waits are followed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Waits in one line.
    pub(crate) waits: usize,
    /// Of the tasks that a wait was for, one after the other, and of what each of them did then, all is followed, not
    /// the longest alone.
    pub(crate) all: bool,
}

impl Bounds {
    /// One line of waits, of the longest each.
    pub(crate) const CHAIN: Bounds = Bounds { waits: CHAIN_TASKS, all: false };
    /// All that a wait's time consists of.
    pub(crate) const SHARES: Bounds = Bounds { waits: CHAIN_TASKS, all: true };

    /// Back in time: of a server and its worker that wake each other there are many.
    pub(crate) const PATH: Bounds = Bounds { waits: 512, all: true };

    fn less(self) -> Bounds {
        Bounds { waits: self.waits.saturating_sub(1), ..self }
    }
}

/// A wait, as far as it matters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    pub(crate) row: u32,
    pub(crate) cause: Cause,
    pub(crate) span_ns: (u64, u64),
}

/// A request that ended a wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended<'a> {
    pub(crate) request: &'a RequestRecord,
    /// The wait is a stage of the request.
    pub(crate) described: bool,
}

/// Notes what is met on the way.
pub(crate) trait Follower<'a> {
    /// What a task did for a time: a row, or a piece of its timeline.
    type Did: Copy;

    /// The time of it.
    fn span_ns(&self, did: &Self::Did) -> (u64, u64);
    /// Its wait, from which the way goes on.
    fn wait(&self, did: &Self::Did) -> Option<Wait>;
    /// Whether a task is none of those that the way led through.
    fn is_new(&mut self, edge: &Edge) -> bool;
    /// What a task did while it kept another one waiting, from a moment on, in order of time. `main`: the wait that
    /// explains most of it.
    fn did(&mut self, wait: &Wait, edge: &Edge, main: Option<WakerWait>, from_ns: u64) -> Vec<Self::Did>;
    /// Enters what a task did while it kept another one waiting.
    fn enter(&mut self, did: &Self::Did, edge: &Edge);
    /// Leaves what was entered last.
    fn leave(&mut self);
    /// A request ended the wait; what served it is followed within these bounds. Returns until when that explains the
    /// wait.
    fn request(&mut self, wait: &Wait, ended: Ended<'a>, bounds: Bounds) -> u64;
    /// A task stopped the one that waits, or froze its cgroup or file system.
    fn stopped(&mut self, wait: &Wait, tid: u32);
    /// Time of what was entered last that nothing else explains.
    fn rest(&mut self, ns: u64);
}

/// Follows what a task did, which is entered already.
pub(crate) fn follow<'a, F: Follower<'a>>(index: &'a RunIndex, follower: &mut F, did: &F::Did, bounds: Bounds) {
    let (mut now_ns, to_ns) = follower.span_ns(did);
    if let Some(wait) = follower.wait(did).filter(|_| bounds.waits > 0) {
        match lead(index, follower, &wait, bounds) {
            Lead::Nobody => {}
            Lead::Stopped(tid) => follower.stopped(&wait, tid),
            Lead::Ended(ended) => now_ns = follower.request(&wait, ended, bounds.less()).max(now_ns),
            Lead::Tasks(edges, main) => {
                for edge in edges {
                    now_ns = follow_task(index, follower, (&wait, &edge, main), now_ns, bounds.less());
                }
            }
        }
    }
    follower.rest(to_ns.saturating_sub(now_ns));
}

/// Follows what a task did that kept another one waiting, whose time is explained up to a moment. Returns until when it
/// is now.
pub(crate) fn follow_task<'a, F: Follower<'a>>(
    index: &'a RunIndex,
    follower: &mut F,
    (wait, edge, main): (&Wait, &Edge, Option<WakerWait>),
    mut now_ns: u64,
    bounds: Bounds,
) -> u64 {
    for did in follower.did(wait, edge, main, now_ns) {
        let (from_ns, to_ns) = follower.span_ns(&did);
        follower.rest(from_ns.saturating_sub(now_ns));
        follower.enter(&did, edge);
        follow(index, follower, &did, bounds);
        follower.leave();
        now_ns = to_ns.max(now_ns);
    }
    now_ns
}

/// What a wait leads to.
enum Lead<'a> {
    /// Nobody who is known kept the task waiting.
    Nobody,
    Stopped(u32),
    Ended(Ended<'a>),
    /// In order of time, and the wait that explains most of what the one did that took longest.
    Tasks(Vec<Edge>, Option<WakerWait>),
}

fn lead<'a, F: Follower<'a>>(index: &'a RunIndex, follower: &mut F, wait: &Wait, bounds: Bounds) -> Lead<'a> {
    let (row, cause) = (index.row(wait.row), wait.cause);
    if let Some(tid) = row.holder_tid.get().filter(|tid| cause.has(traits::HALTED) && *tid != row.tid) {
        return Lead::Stopped(tid);
    }
    if let Some(edge) = with_child(index, wait).filter(|edge| follower.is_new(edge)) {
        let main = main_wait(index, wait, &edge);
        return Lead::Tasks(vec![edge], main);
    }
    if !edge::leads_on(index, row, cause) {
        return Lead::Nobody;
    }
    let described = index.is_of_request(row, cause);
    let by_request = |request: &'a RequestRecord| Lead::Ended(Ended { request, described });
    let ended = index.request(row).filter(|request| may_end(index, request, row, cause));
    let request = ended.filter(|_| cause.has(traits::ENDS_WITH_REQUEST));
    if let Some(request) = request.filter(|request| described || explains(request, row)) {
        return by_request(request);
    }
    let edges = if bounds.all { edge::edges(index, row, wait.span_ns) } else { Vec::new() };
    let mut edges: Vec<Edge> = edges.into_iter().filter(|edge| follower.is_new(edge)).collect();
    let longest = edge::longest(index, row, wait.span_ns);
    let longest = longest
        .filter(|edge| if bounds.all { edges.iter().any(|one| one.tid == edge.tid) } else { follower.is_new(edge) });
    let main = longest.and_then(|edge| main_wait(index, wait, &edge));
    // An idle worker acts as soon as a request completes: then the request is what took the time.
    let request = request.or_else(|| ended.filter(|request| explains(request, row)));
    match (main, request) {
        (None, Some(request)) => by_request(request),
        (main, request) => {
            let message = || longest.filter(|_| request.is_none()).and_then(|edge| awaited_message(index, wait, &edge));
            if !bounds.all {
                edges.extend(longest);
            }
            Lead::Tasks(edges, main.or_else(message))
        }
    }
}

/// Of a task that was stopped in its wait for a child that was stopped as well: the child.
fn with_child(index: &RunIndex, wait: &Wait) -> Option<Edge> {
    let (row, (from_ns, to_ns)) = (index.row(wait.row), wait.span_ns);
    let (from_ns, to_ns) = (row.start_ns.max(from_ns), row.runnable_ns.min(to_ns));
    let tid = children::stopped_child(index, row).filter(|_| wait.cause == Cause::Stopped && from_ns < to_ns)?;
    Some(Edge { tid, from_ns, to_ns, held: None })
}

/// Whether what a task waited for, by its cause, is what it kept another one waiting for: what the task waits for that
/// thaws a file system did not freeze it.
pub(crate) fn is_passed_on(wait: &Wait, cause: Cause) -> bool {
    wait.cause != Cause::Frozen || cause == Cause::Frozen
}

/// Whether it is what a kernel worker waited for in another work.
pub(crate) fn is_foreign(index: &RunIndex, wait: &Wait, edge: &Edge, row: &Row) -> bool {
    edge.held.is_none() && is_of_other_work(index, index.row(wait.row), row)
}

/// What a task waited for in its time itself, if that explains it.
fn main_wait(index: &RunIndex, wait: &Wait, edge: &Edge) -> Option<WakerWait> {
    let main = waker_wait::longest(index, edge, &|row: &Row| is_foreign(index, wait, edge, row))?;
    (is_passed_on(wait, main.cause) && main.ns >= edge.ns() / SMALL_PART).then_some(main)
}

/// Its wait for the message that let it act, where the wait is for a task, or for a server in user space: who sent that
/// message took the time.
fn awaited_message(index: &RunIndex, wait: &Wait, edge: &Edge) -> Option<WakerWait> {
    let is_for_task = wait.cause.has(traits::SERVER) || index.awaits_task(index.row(wait.row));
    let message = waker_wait::last_message(index, edge).filter(|_| is_for_task);
    message.filter(|message| message.ns >= edge.ns() / SMALL_PART)
}

/// Whether a wait lasted about as long as the request that ended it. Otherwise the request was the last of many, and
/// its submitter is the better explanation.
fn explains(request: &RequestRecord, row: &Row) -> bool {
    let within_ns = request.completed_ns.saturating_sub(request.began_ns().max(row.start_ns));
    request.throttled || within_ns >= (row.runnable_ns - row.start_ns) / SMALL_PART
}
