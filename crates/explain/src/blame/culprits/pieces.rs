//! The pieces of time that operations lost.

use std::sync::Arc;

use super::victims::Victim;
use crate::blame::graph::segment::{Segment, TaskTimeline};
use crate::blame::operations::Operation;

/// Operations of one task, and its time.
pub(crate) struct Waiting<'a> {
    pub(super) victim: Victim,
    pub(super) operations: &'a [Operation],
    pub(super) timeline: Arc<TaskTimeline>,
}

/// Visits what they lost: a segment, the part of it, and within how many operations that lies. Time within several
/// counts for each.
pub(super) fn pieces(of: &Waiting<'_>, mut visit: impl FnMut(&Segment, (u64, u64), u64)) {
    let mut borders: Vec<(u64, i64)> =
        of.operations.iter().flat_map(|operation| [(operation.start_ns, 1), (operation.end_ns, -1)]).collect();
    borders.sort_unstable();
    let (Some(&(from_ns, _)), Some(&(to_ns, _))) = (borders.first(), borders.last()) else { return };
    let mut borders = borders.into_iter().peekable();
    let mut covered: i64 = 0;
    // Segments are cut at operations' borders when they are made, then joined again; cut them here once more.
    for segment in of.timeline.between(from_ns, to_ns) {
        let mut from_ns = segment.start_ns;
        loop {
            while let Some((_, change)) = borders.next_if(|&(at_ns, _)| at_ns <= from_ns) {
                covered += change;
            }
            let to_ns = borders.peek().map_or(segment.end_ns, |&(at_ns, _)| at_ns.min(segment.end_ns));
            if covered > 0 && segment.is_lost() {
                visit(&segment, (from_ns, to_ns), covered.unsigned_abs());
            }
            from_ns = to_ns;
            if from_ns >= segment.end_ns {
                break;
            }
        }
    }
}
