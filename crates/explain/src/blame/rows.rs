//! Rows of stalls in memory: checked, small, with each name stored once.

use model::signal::{Signal, SignalMeaning};
use model::stall::{StallKind, StallRecord};

use super::names::{Name, Names};

/// No wait takes a year. A longer row comes from a damaged clock and would swamp all others.
pub(super) const LONGEST_NS: u64 = 366 * 24 * 3600 * 1_000_000_000;

/// A checked [`StallRecord`]: start, wakeup and end are in this order, and no time exceeds the clock's range.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) busy_ns: u64,
    /// Runnable from here on: the start of a preemption, the end where the wakeup was not recorded.
    pub(super) runnable_ns: u64,
    pub(super) tid: u32,
    pub(super) count: u32,
    pub(super) kind: StallKind,
    pub(super) stopped: bool,
    pub(super) waker_tid: Option<u32>,
    pub(super) behind_tid: Option<u32>,
    pub(super) stack: Option<u32>,
    pub(super) waker_stack: Option<u32>,
    pub(super) request: Option<u32>,
    pub(super) announced: Option<&'static SignalMeaning>,
    pub(super) detail: Option<Name>,
    pub(super) call: Option<Name>,
    pub(super) path: Option<Name>,
}

/// `__TASK_STOPPED | __TASK_TRACED` of the kernel, all versions.
const STOPPED: u32 = 0x4 | 0x8;

impl Row {
    /// `None` for an inconsistent record.
    pub(super) fn new(record: &StallRecord, names: &mut Names) -> Option<Row> {
        let end_ns = record.start_ns.checked_add(record.duration_ns)?;
        if record.duration_ns == 0 || record.duration_ns > LONGEST_NS {
            return None;
        }
        let preempted = record.kind == StallKind::OffCpu && record.state == Some(0);
        let runnable_ns = match record.woken_ns {
            _ if preempted => record.start_ns,
            // A wakeup may come just before the task leaves the CPU.
            Some(woken_ns) => woken_ns.clamp(record.start_ns, end_ns),
            None => end_ns,
        };
        Some(Row {
            start_ns: record.start_ns,
            end_ns,
            busy_ns: record.busy_ns.min(record.duration_ns),
            runnable_ns,
            tid: record.tid,
            count: u32::try_from(record.count).unwrap_or(u32::MAX),
            // A wait reported while it lasts counts as a wait until the whole wait is recorded.
            kind: if record.kind == StallKind::StillBlocked { StallKind::Blocked } else { record.kind },
            stopped: record.state.is_some_and(|state| state & STOPPED != 0),
            waker_tid: record.waker_tid,
            behind_tid: record.behind_tid,
            stack: record.stack,
            waker_stack: record.waker_stack,
            request: record.request,
            announced: record.tracepoint.as_deref().and_then(Signal::from_name).and_then(Signal::meaning),
            detail: names.insert_some(record.detail.as_ref()),
            call: names.insert_some(record.call.as_ref()),
            path: names.insert_some(record.path.as_ref()),
        })
    }
}
