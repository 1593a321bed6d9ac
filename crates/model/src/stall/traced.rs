//! What a tracer hands on.

use super::{RequestIntervalRecord, RequestRecord, StackRecord, StallRecord, TaskRecord};
use crate::usage::UsageRecord;
use crate::user_stack::{UserFrameRecord, UserStackRecord};

/// The rows of a tracer since the last poll.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Traced {
    /// Time that tasks lost.
    pub stalls: Vec<StallRecord>,
    /// Stacks that were not emitted before.
    pub stacks: Vec<StackRecord>,
    /// Requests that were not emitted before.
    pub requests: Vec<RequestRecord>,
    /// Sums of requests.
    pub request_intervals: Vec<RequestIntervalRecord>,
    /// Threads that were not emitted before.
    pub tasks: Vec<TaskRecord>,
    /// Who used what.
    pub usage: Vec<UsageRecord>,
    /// Where programs were.
    pub user_stacks: Vec<UserStackRecord>,
    /// Places in programs that were not emitted before.
    pub user_frames: Vec<UserFrameRecord>,
}

impl Traced {
    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.stalls.is_empty()
            && self.stacks.is_empty()
            && self.requests.is_empty()
            && self.request_intervals.is_empty()
            && self.tasks.is_empty()
            && self.usage.is_empty()
            && self.user_stacks.is_empty()
            && self.user_frames.is_empty()
    }

    /// Drops all rows, and keeps the lists' memory.
    pub fn clear(&mut self) {
        let Traced { stalls, stacks, requests, request_intervals, tasks, usage, user_stacks, user_frames } = self;
        stalls.clear();
        stacks.clear();
        requests.clear();
        request_intervals.clear();
        tasks.clear();
        usage.clear();
        user_stacks.clear();
        user_frames.clear();
    }
}
