//! Time that counts for a client and for its server: the server's operation lasts while the client waits for it.

use std::collections::BTreeMap;

use model::stall::{Awaits, StallKind};

use crate::blame::facts::cause::{Cause, EvidenceTimes};
use crate::blame::facts::rows::Row;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::graph::edge::{self, Edge};
use crate::blame::graph::segment::{NO_ROW, Segment, TaskTimeline};
use crate::blame::operations::Operation;
use crate::blame::timeline::timelines::TaskTimelines;

/// Servers one behind the other.
const HOPS: usize = 4;

/// How much of each operation is time in which the client of another one waited for it, ns; and of all of them by
/// cause.
pub(crate) struct CountedAgain {
    /// Of any other one.
    all: Vec<u64>,
    /// Of another one of the same side: of the recorded command or load, or of all others.
    within: Vec<u64>,
    by_cause: ByCause,
    of_command: ByCause,
    of_others: ByCause,
}

/// Time by cause and evidence.
pub(crate) type ByCause = BTreeMap<Cause, EvidenceTimes>;

impl CountedAgain {
    pub(crate) fn new(index: &RunIndex, operations: &[Operation], timelines: &mut TaskTimelines<'_>) -> CountedAgain {
        let (all, by_cause) = counted_again(index, operations, timelines, |_| true);
        if !index.has_command {
            let (of_command, of_others) = (ByCause::new(), ByCause::new());
            return CountedAgain { within: all.clone(), all, by_cause, of_command, of_others };
        }
        let mut of_side =
            |side: bool| counted_again(index, operations, timelines, |one| one.is_of_command(index) == Some(side));
        let ((command, of_command), (others, of_others)) = (of_side(true), of_side(false));
        let within = command.iter().zip(others).map(|(one, other)| one + other).collect();
        CountedAgain { all, within, by_cause, of_command, of_others }
    }

    /// Both of each operation, in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.all.iter().zip(&self.within).map(|(all, within)| (*all, *within))
    }

    /// Of all operations: what any other one counts as well.
    pub(crate) fn by_cause(&self) -> &ByCause {
        &self.by_cause
    }

    /// Of those of the recorded command or load, or of the others: what others of the same side count as well.
    pub(crate) fn of_side(&self, is_command: bool) -> &ByCause {
        if is_command { &self.of_command } else { &self.of_others }
    }
}

fn counted_again(
    index: &RunIndex,
    operations: &[Operation],
    timelines: &mut TaskTimelines<'_>,
    is_meant: impl Fn(&Operation) -> bool,
) -> (Vec<u64>, ByCause) {
    let served = Served::of(index, operations.iter().filter(|client| is_meant(client)), timelines);
    let mut by_cause = ByCause::new();
    let mut counted = |operation: &Operation| {
        if !served.is_of_server(operation) || !is_meant(operation) {
            return 0;
        }
        let timeline = timelines.of(operation);
        let segments = timeline.between(operation.start_ns, operation.end_ns);
        let again = segments.map(|segment| (segment, served.within_segment(operation, &segment)));
        let again = again.filter(|(_, ns)| *ns > 0);
        again.inspect(|(one, ns)| by_cause.entry(one.cause).or_default().add(one.evidence, *ns)).map(|(_, ns)| ns).sum()
    };
    (operations.iter().map(&mut counted).collect(), by_cause)
}

/// When tasks worked for clients that waited for them, by what the time of these is charged to.
pub(crate) struct Served<'a> {
    index: &'a RunIndex,
    times: BTreeMap<u32, BTreeMap<Cause, Times>>,
}

impl<'a> Served<'a> {
    pub(crate) fn of<'b>(
        index: &'a RunIndex,
        clients: impl Iterator<Item = &'b Operation>,
        timelines: &mut TaskTimelines<'_>,
    ) -> Served<'a> {
        let mut served = Served { index, times: BTreeMap::new() };
        clients.for_each(|client| served.add_client(client, &timelines.of(client)));
        served
    }

    /// Whether time of an operation may be charged to clients as well: it is its task's own time, who served some.
    pub(crate) fn is_of_server(&self, operation: &Operation) -> bool {
        let is_request = |row: u32| self.index.row(row).kind == StallKind::ServerRequest;
        self.times.contains_key(&operation.tid) && operation.asynchronous.is_none_or(is_request)
    }

    fn add_client(&mut self, client: &Operation, timeline: &TaskTimeline) {
        for segment in timeline.between(client.start_ns, client.end_ns) {
            if segment.via.is_some() && segment.off != NO_ROW {
                let span_ns = (segment.start_ns, segment.end_ns);
                self.follow(client.tid, self.index.row(segment.off), segment.cause, span_ns, HOPS);
            }
        }
    }

    /// Adds the time of the server that a wait was for, and of those that it waited for meanwhile.
    fn follow(&mut self, client: u32, wait: &Row, cause: Cause, span_ns: (u64, u64), hops: usize) {
        if hops == 0 || !self.index.awaits(wait).is_some_and(is_for_server) {
            return;
        }
        // A parent that waits for a child, which writes to it, is no server of the child.
        let is_other = |edge: &Edge| edge.tid != wait.tid && edge.tid != client;
        let Some(edge) = edge::longest(self.index, wait, span_ns).filter(is_other) else { return };
        let of_task = self.times.entry(edge.tid).or_default();
        if !of_task.entry(cause).or_default().add(edge.from_ns, edge.to_ns) {
            return;
        }
        let index = self.index;
        for (_, row) in index.rows_between(edge.tid, edge.from_ns, edge.to_ns) {
            let span_ns = (row.start_ns.max(edge.from_ns), row.end_ns.min(edge.to_ns));
            self.follow(client, row, cause, span_ns, hops - 1);
        }
    }

    /// What of a part of a server's operation is also charged to its clients, ns.
    pub(crate) fn within_segment(&self, operation: &Operation, segment: &Segment) -> u64 {
        let times = self.times.get(&operation.tid).and_then(|times| times.get(&segment.cause));
        times.map_or(0, |times| times.within(segment.start_ns, segment.end_ns))
    }
}

/// Whether a wait is for a task that works for the one that waits. A lock's holder works for itself.
fn is_for_server(awaits: Awaits) -> bool {
    match awaits {
        Awaits::Answer | Awaits::AnswerOfChild | Awaits::PartOfAnswer | Awaits::Room => true,
        Awaits::Child | Awaits::ForClient => true,
        Awaits::Message | Awaits::Thread | Awaits::Interrupt | Awaits::Lock | Awaits::Work => false,
    }
}

/// Times without overlaps: each begin with its end.
#[derive(Debug, Default, PartialEq, Eq)]
struct Times(BTreeMap<u64, u64>);

impl Times {
    /// Returns whether any of it is new.
    fn add(&mut self, mut start_ns: u64, mut end_ns: u64) -> bool {
        let touching = self.0.range(..=end_ns).rev().take_while(|(_, end)| **end >= start_ns);
        let touching: Vec<(u64, u64)> = touching.map(|(start, end)| (*start, *end)).collect();
        if start_ns >= end_ns || touching.iter().any(|(start, end)| *start <= start_ns && end_ns <= *end) {
            return false;
        }
        for (start, end) in touching {
            (start_ns, end_ns) = (start_ns.min(start), end_ns.max(end));
            self.0.remove(&start);
        }
        self.0.insert(start_ns, end_ns);
        true
    }

    fn within(&self, start_ns: u64, end_ns: u64) -> u64 {
        let touching = self.0.range(..end_ns).rev().take_while(|(_, end)| **end > start_ns);
        touching.map(|(start, end)| end.min(&end_ns) - start.max(&start_ns)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::Times;

    #[test]
    fn times_are_joined() {
        let mut times = Times::default();
        assert!(times.add(10, 20) && times.add(30, 40) && !times.add(12, 18) && times.add(15, 35));
        assert!(!times.add(5, 5) && times.add(50, 60));
        assert_eq!(times, Times([(10, 40), (50, 60)].into()));
    }
}
