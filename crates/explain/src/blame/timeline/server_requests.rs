//! The time of a request to a server, whichever thread of a client sent it, waited or received the answer.

use std::sync::Arc;

use crate::blame::facts::cause::{Cause, Evidence};
use crate::blame::facts::run_index::RunIndex;
use crate::blame::graph::path::path;
use crate::blame::graph::segment::{NO_ROW, Segment, TaskTimeline};

/// The time of the request in that row: what the thread that sent the answer did before, then what the one did that
/// received it.
pub(crate) fn timeline(index: &RunIndex, at: u32, mut own: impl FnMut(u32) -> Arc<TaskTimeline>) -> TaskTimeline {
    let row = index.row(at);
    let mut segments = path(index, at, &mut own);
    let mut now_ns = row.runnable_ns;
    let unknown = |start_ns, end_ns| Segment {
        start_ns,
        end_ns,
        cause: Cause::Unexplained,
        evidence: Evidence::None,
        off: at,
        by: NO_ROW,
        ran: 0,
        via: None,
    };
    for segment in own(row.tid).between(row.runnable_ns, row.end_ns) {
        segments.extend((segment.start_ns > now_ns).then(|| unknown(now_ns, segment.start_ns)));
        segments.push(segment);
        now_ns = segment.end_ns;
    }
    segments.extend((row.end_ns > now_ns).then(|| unknown(now_ns, row.end_ns)));
    TaskTimeline::new(segments)
}
