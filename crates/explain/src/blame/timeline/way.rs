//! What others did while a task waited, in one row or, where timers interrupted the wait, in several.

use std::sync::Arc;

use crate::blame::facts::run_index::RunIndex;
use crate::blame::graph::path::path_since;
use crate::blame::graph::segment::TaskTimeline;
use crate::blame::intents::interruptions::interrupted_waits;

/// The way back from the end of a wait.
#[derive(Debug, Default)]
pub(super) struct Way {
    /// The first row and the last.
    rows: Option<(u32, u32)>,
    pub(super) timeline: TaskTimeline,
}

impl Way {
    /// Of the wait that a row is a part of, since the begin of that row.
    pub(super) fn of(index: &RunIndex, row: u32, own: impl FnMut(u32) -> Arc<TaskTimeline>) -> Way {
        let end = interrupted_waits::end_of(index, row);
        let segments = path_since(index, end, index.row(row).start_ns, own);
        Way { rows: Some((row, end)), timeline: TaskTimeline::new(segments) }
    }

    /// Whether a row is a part of it.
    pub(super) fn is_of(&self, row: u32) -> bool {
        self.rows.is_some_and(|(first, last)| (first..=last).contains(&row))
    }
}
