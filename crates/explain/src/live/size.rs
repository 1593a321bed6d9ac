//! How much memory rows take, with the texts that they own.

use model::operation::{IntervalRecord, OperationRecord};
use model::stall::{RequestIntervalRecord, RequestRecord, StackRecord, StallRecord, TaskRecord};
use model::usage::UsageRecord;
use model::user_stack::{UserFrameRecord, UserStackRecord};

/// What the allocator adds to a piece of memory, and rounds it up by.
const OVERHEAD: usize = 24;

/// A row in memory.
pub(super) trait Size: Sized {
    /// Memory that it owns beside itself.
    fn owned(&self) -> usize;

    /// All of it.
    fn size(&self) -> usize {
        size_of::<Self>() + self.owned()
    }
}

fn text(text: &str) -> usize {
    if text.is_empty() { 0 } else { text.len() + OVERHEAD }
}

fn some(text_of: Option<&String>) -> usize {
    text_of.map_or(0, |one| text(one))
}

impl Size for StallRecord {
    fn owned(&self) -> usize {
        let texts = [&self.tracepoint, &self.call, &self.work, &self.path];
        let detail = if self.detail.is_some() { 2 * OVERHEAD } else { 0 };
        texts.into_iter().map(|one| some(one.as_ref())).sum::<usize>() + detail
    }
}

impl Size for OperationRecord {
    fn owned(&self) -> usize {
        text(&self.class) + some(self.path.as_ref())
    }
}

impl Size for IntervalRecord {
    fn owned(&self) -> usize {
        text(&self.class) + text(&self.phase) + OVERHEAD + size_of_val(self.buckets.as_slice())
    }
}

impl Size for RequestRecord {
    fn owned(&self) -> usize {
        let counts = size_of_val(self.in_flight.as_slice()) + size_of_val(self.overtaken_by.as_slice());
        counts + self.parts.as_deref().map_or(0, |parts| size_of_val(parts) + OVERHEAD)
    }
}

impl Size for RequestIntervalRecord {
    fn owned(&self) -> usize {
        2 * OVERHEAD + size_of_val(self.queue.as_slice()) + size_of_val(self.device_time.as_slice())
    }
}

impl Size for UsageRecord {
    fn owned(&self) -> usize {
        some(self.cgroup.as_ref()) + some(self.limit.as_ref())
    }
}

impl Size for TaskRecord {
    fn owned(&self) -> usize {
        text(&self.name) + some(self.cgroup.as_ref()) + some(self.io_cgroup.as_ref())
    }
}

impl Size for StackRecord {
    fn owned(&self) -> usize {
        self.frames.iter().map(|frame| size_of::<String>() + text(frame)).sum()
    }
}

impl Size for UserStackRecord {
    fn owned(&self) -> usize {
        OVERHEAD + size_of_val(self.frames.as_slice())
    }
}

impl Size for UserFrameRecord {
    fn owned(&self) -> usize {
        let texts = self.functions.iter().chain(&self.files).map(|one| size_of::<String>() + text(one)).sum::<usize>();
        some(self.module.as_ref()) + some(self.build_id.as_ref()) + texts + size_of_val(self.lines.as_slice())
    }
}
