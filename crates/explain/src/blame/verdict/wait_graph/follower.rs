//! What the graph of waits takes from those who kept a task waiting: all of their time.

use super::Graph;
use crate::blame::facts::cause::Cause;
use crate::blame::graph::chain::chain_row;
use crate::blame::graph::edge::Edge;
use crate::blame::graph::follow::{Bounds, Ended, Follower, Wait, is_foreign, is_passed_on};
use crate::blame::graph::segment::Segment;
use crate::blame::graph::waker_wait::WakerWait;
use crate::waits::Path;

/// Pieces of one task that are followed within one wait.
const PIECES: usize = 1024;

impl<'a> Follower<'a> for Graph<'a, '_> {
    type Did = Segment;

    fn span_ns(&self, segment: &Segment) -> (u64, u64) {
        (segment.start_ns, segment.end_ns)
    }

    fn wait(&self, segment: &Segment) -> Option<Wait> {
        let row = chain_row(self.index, segment)?;
        Some(Wait { row, cause: segment.cause, span_ns: self.span_ns(segment) })
    }

    fn is_new(&mut self, edge: &Edge) -> bool {
        self.deadlock |= edge.held.is_some() && are_locks_up_to(self.of, edge.tid, &self.path);
        edge.tid != self.of && self.path.iter().all(|step| step.tid != edge.tid)
    }

    /// What none of it explains is the wait's own time.
    fn did(&mut self, wait: &Wait, edge: &Edge, _main: Option<WakerWait>, from_ns: u64) -> Vec<Segment> {
        let index = self.index;
        let timeline = self.timelines.get(edge.tid);
        let is_passed_on = |piece: &Segment| {
            let row = piece.row().map(|row| index.row(row));
            is_passed_on(wait, piece.cause) && !row.is_some_and(|row| is_foreign(index, wait, edge, row))
        };
        timeline.between(edge.from_ns.max(from_ns), edge.to_ns).take(PIECES).filter(is_passed_on).collect()
    }

    fn enter(&mut self, segment: &Segment, edge: &Edge) {
        self.push(segment, edge.tid);
    }

    fn leave(&mut self) {
        let length = self.lengths.pop().unwrap_or_default();
        self.path.truncate(length);
    }

    fn request(&mut self, wait: &Wait, ended: Ended<'a>, bounds: Bounds) -> u64 {
        self.follow_request(wait, ended, bounds)
    }

    /// What stopped it is said of all paths.
    fn stopped(&mut self, _wait: &Wait, _tid: u32) {}

    fn rest(&mut self, ns: u64) {
        self.put(ns);
    }
}

/// Whether a path leads from the lock that a task waits for through locks alone: if its last one is held by `holder`,
/// which is a task of the path or the one that waits, none of them will be released.
fn are_locks_up_to(of: u32, holder: u32, path: &Path) -> bool {
    let from = if holder == of { Some(0) } else { path.iter().position(|step| step.tid == holder) };
    path.len() > 1 && from.is_some_and(|from| path[from..].iter().all(|step| step.cause == Cause::Lock))
}
