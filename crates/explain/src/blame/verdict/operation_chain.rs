//! The chain of an operation: what most of its time went to, and what was behind that.

use std::collections::HashMap;

use crate::blame::facts::cause::Cause;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::run_index::lock_turns::Held;
use crate::blame::graph::chain::{Start, Step, chain_row, walk};
use crate::blame::graph::segment::{Segment, TaskTimeline};
use crate::blame::intents::locks::holder;
use crate::blame::intents::requests::worked_for::{self, client_of};
use crate::blame::operations::Operation;
use crate::blame::verdict::explanation::{Holds, Link, RequestLife};
use crate::blame::verdict::links;
use crate::blame::verdict::request_life::lifecycle;
use crate::blame::verdict::rests_on::Rules;
use crate::thresholds::SMALL_PART;

/// The chain that starts with an operation's longest wait, and the request at its end; `rules`: those that lead there
/// are added.
pub(crate) fn of_operation(
    index: &RunIndex,
    operation: &Operation,
    timeline: &TaskTimeline,
    rules: &mut Rules,
) -> (Vec<Link>, Option<RequestLife>) {
    let Some(LongestWait { row, follow: first, cause, ns, ran }) = longest(index, operation, timeline) else {
        return (Vec::new(), None);
    };
    let wait = links::wait(index, row, cause, ns);
    let own = Link {
        task: Some(index.tasks.thread(operation.tid, operation.end_ns, &index.names)),
        span_ns: wait.span_ns.filter(|_| index.row(row).tid == operation.tid),
        ..wait
    };
    let mut chain = Chain { index, links: vec![own], request: None, before: first, rules };
    if ran != 0 {
        let work = work(index, operation, (row, ran), ns, chain.rules);
        chain.push(work);
        return (chain.links, None);
    }
    if index.row(row).tid != operation.tid {
        chain.push(links::wait(index, row, cause, ns));
    }
    chain.rules.row(index, first);
    let start = Start::at(index, first, cause).of(operation.tid, (operation.start_ns, operation.end_ns));
    walk(index, start, |step| chain.step(step));
    note_other_ends(index, operation, &mut chain.links);
    (chain.links, chain.request)
}

/// A chain that grows from an operation's wait.
struct Chain<'a> {
    index: &'a RunIndex,
    links: Vec<Link>,
    /// The request at its end.
    request: Option<RequestLife>,
    /// The row of the last wait.
    before: u32,
    rules: &'a mut Rules,
}

impl Chain<'_> {
    /// No link takes longer than the one before, which it explains.
    fn push(&mut self, link: Link) {
        let most_ns = self.links.last().map_or(link.time_ns, |before| before.time_ns);
        self.links.push(Link { time_ns: link.time_ns.min(most_ns), ..link });
    }

    fn held(&mut self, held: Option<Held>, link: Link) {
        if held.is_some() {
            self.rules.held(self.index, self.before);
        }
        self.push(links::with_holder(self.index, held, link));
    }

    fn step(&mut self, step: Step<'_>) {
        let index = self.index;
        match step {
            Step::Waits { row, cause, ns, held } => {
                self.held(held, links::wait(index, row, cause, ns));
                self.rules.row(index, row);
                self.before = row;
            }
            Step::Request { request, described } => {
                self.request = Some(lifecycle(index, request));
                if !described {
                    let waited_ns = self.links.last().map_or(0, |link| link.time_ns);
                    self.push(links::request(index, request, waited_ns));
                }
            }
            Step::Stopped { tid, at_ns, ns, cause } => self.push(links::stopped(index, tid, at_ns, (cause, ns))),
            Step::Works { tid, at_ns, ns, held } => {
                let task = index.tasks.thread(tid, at_ns, &index.names);
                let work = links::work(index.ran(tid, at_ns - ns, at_ns));
                self.held(held, Link { task: Some(task), time_ns: ns, ..work });
            }
        }
    }
}

/// Of a wait that had not ended: the next task of the chain did not end it, but has the other end of what it was for.
fn note_other_ends(index: &RunIndex, operation: &Operation, chain: &mut [Link]) {
    let begin = if operation.finished { chain.len() } else { 1 };
    for at in begin..chain.len() {
        let tid = |link: &Link| link.task.as_ref().map(|task| task.tid);
        let has_it = tid(&chain[at - 1]).and_then(|before| index.lasting.get(&before)?.holder_tid);
        if chain[at].holds.is_none() && has_it.is_some() && has_it == tid(&chain[at]) {
            chain[at].holds = Some(Holds::OtherEnd);
        }
    }
}

/// What another task did in a row, and for which of its clients.
fn work(index: &RunIndex, operation: &Operation, (row, ran): (u32, u32), time_ns: u64, rules: &mut Rules) -> Link {
    let row = index.row(row);
    let began_ns = row.start_ns.max(operation.start_ns);
    let pid = index.tasks.process_of(operation.tid, operation.end_ns);
    let client = client_of(index, ran, began_ns, pid);
    client.iter().for_each(|_| rules.add(&worked_for::RULE));
    let work = client.map_or_else(|| links::work(true), |(client, _)| links::work_for(index, client, began_ns));
    Link { task: Some(index.tasks.thread(ran, row.runnable_ns, &index.names)), time_ns, ..work }
}

/// An operation's longest wait.
struct LongestWait {
    /// The most specific row.
    row: u32,
    /// The row that its chain continues from.
    follow: u32,
    cause: Cause,
    ns: u64,
    /// The other task that ran in that time, in one wait for it or in many; 0: none.
    ran: u32,
}

/// Pieces smaller than this fraction (1/4096) of an operation are not summed by row, because there may be very many.
const SMALL: u64 = 4096;

fn longest(index: &RunIndex, operation: &Operation, timeline: &TaskTimeline) -> Option<LongestWait> {
    let mut sums: HashMap<(u64, Cause, u32), (LongestWait, u64)> = HashMap::new();
    let mut longest_small: Option<LongestWait> = None;
    for segment in timeline.between(operation.start_ns, operation.end_ns) {
        let Some(row) = segment.row().filter(|_| segment.is_lost()) else { continue };
        let piece = piece(index, row, &segment);
        if piece.ns < operation.ns() / SMALL {
            if longest_small.as_ref().is_none_or(|longest| longest.ns < piece.ns) {
                longest_small = Some(piece);
            }
            continue;
        }
        let key = (if piece.ran == 0 { wait_of(index, row) } else { 0 }, piece.cause, piece.ran);
        let (sum, longest_ns) = sums.entry(key).or_insert_with(|| (LongestWait { ns: 0, ..piece }, 0));
        sum.ns += piece.ns;
        // All attempts lie before the last one.
        if piece.ns > *longest_ns || is_attempt(index, row) {
            (*longest_ns, sum.row, sum.follow) = (piece.ns, piece.row, piece.follow);
        }
    }
    // The chain of a cause that hardly matters would read as the reason.
    let all = timeline.sums(operation.start_ns, operation.end_ns);
    let matters = |wait: &LongestWait| all.of(wait.cause).total_ns() >= operation.ns() / SMALL_PART;
    let longest =
        sums.into_values().map(|(sum, _)| sum).filter(matters).max_by_key(|sum| (sum.ns, sum.cause, sum.row, sum.ran));
    longest.or(longest_small.filter(matters))
}

/// What rows of one wait have in common: its begin, where timers interrupt it. Others are waits of their own.
fn wait_of(index: &RunIndex, row: u32) -> u64 {
    let is_series = holder::is_of_user_space(index, index.row(row)) || is_attempt(index, row);
    if is_series { holder::since_ns(index, index.row(row)) } else { u64::MAX - u64::from(row) }
}

fn is_attempt(index: &RunIndex, row: u32) -> bool {
    index.lock_turns.tried_since_ns(index.row(row)).is_some()
}

fn piece(index: &RunIndex, row: u32, segment: &Segment) -> LongestWait {
    let follow = chain_row(index, segment).unwrap_or(row);
    LongestWait { row, follow, cause: segment.cause, ns: segment.ns(), ran: segment.ran }
}
