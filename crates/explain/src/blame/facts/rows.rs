//! Rows of stalls in memory: checked, small, with each name stored once.

pub(crate) mod arrived;
pub(crate) mod joined;
pub(crate) mod partial_rows;
pub(crate) mod row_order;
pub(crate) mod run_delays;

use model::cause::Cause;
use model::signal::{Signal, SignalMeaning};
use model::stall::{StallKind, StallRecord, stall_flags};
use model::system_call::traits;

use crate::blame::facts::intent::Intent;
use crate::blame::facts::maybe::Maybe;
use crate::blame::facts::names::{DetailId, Name, Names};
use crate::blame::facts::stop::Stop;
use crate::thresholds::POLL_ERROR_NS;

/// No wait takes a year. A longer row comes from a damaged clock and would swamp all others.
pub(crate) const LONGEST_NS: u64 = 366 * 24 * 3600 * 1_000_000_000;

/// A checked [`StallRecord`]: start, wakeup and end are in this order, and no time exceeds the clock's range.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// Its number once the rows are in order.
    pub(crate) at: u32,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) busy_ns: u64,
    /// Runnable from here on: the start of a preemption, the end where the wakeup was not recorded.
    pub(crate) runnable_ns: u64,
    pub(crate) tid: u32,
    pub(crate) count: u32,
    pub(crate) kind: StallKind,
    /// What keeps its task from running.
    pub(crate) stop: Option<Stop>,
    /// Its task slept interruptibly.
    pub(crate) interruptible: bool,
    /// The scheduler's tracepoints saw it; not a poll.
    pub(crate) switched: bool,
    /// It had not ended with the recording; its waker is the task that it waited for.
    pub(crate) unfinished: bool,
    /// It, or its system call, began before the recording.
    pub(crate) cut: bool,
    /// While it was runnable, the CPU quota of its cgroup held it.
    pub(crate) held: bool,
    /// All waits of its task are recorded.
    pub(crate) watched: bool,
    /// It is no wait, but a moment at which the task ran.
    pub(crate) while_running: bool,
    /// Since when the task was in its call, and the CPU time it had used by then; 0: unknown.
    pub(crate) call_start_ns: u64,
    pub(crate) accounted: Accounted,
    /// What it was for and who ended it, as the tracer noted that. [`RunIndex::intent`] is what is known of it.
    ///
    /// [`RunIndex::intent`]: crate::blame::facts::run_index::RunIndex::intent
    pub(crate) noted: Intent,
    /// The thread that executed an asynchronous operation.
    pub(crate) worker_tid: Maybe,
    pub(crate) behind_tid: Maybe,
    pub(crate) stack: Maybe,
    pub(crate) request: Maybe,
    /// Where that is among those that are known.
    pub(crate) request_at: Maybe,
    pub(crate) announced: Option<&'static SignalMeaning>,
    pub(crate) detail: Option<DetailId>,
    pub(crate) call: Option<Name>,
    /// The workqueue of a kernel worker.
    pub(crate) work: Option<Name>,
    pub(crate) path: Option<Name>,
    /// The CPU that the task left.
    pub(crate) cpu: Maybe,
    /// The lock that it was for, and who held it at the start: exactly, or one of its readers.
    pub(crate) lock: Maybe,
    pub(crate) holder_tid: Maybe,
    pub(crate) holder_is_hint: bool,
    /// The task that ended it began after it.
    pub(crate) waker_is_newer: bool,
    /// Bytes that a system call moved; 0: unknown.
    pub(crate) bytes: u64,
}

/// `__TASK_STOPPED | __TASK_TRACED` of the kernel, all versions, and `TASK_FROZEN`, which before 6.1 was nothing.
const STOPPED: u32 = 0x4 | 0x8 | 0x8000;

impl Row {
    /// Whether its task was refused something and sleeps before the next attempt: by a timer of its own, or in a wait
    /// for a child that sleeps.
    pub(crate) fn is_between_attempts(&self, names: &Names) -> bool {
        let sleeps = traits::SLEEPS | traits::WAITS | traits::WAITS_FOR_CHILD;
        self.announced.is_some() && self.interruptible && self.call.is_some_and(|call| names.traits(call).has(sleeps))
    }

    /// `None` for an inconsistent record.
    pub(crate) fn new(record: &StallRecord, names: &mut Names) -> Option<Row> {
        end_ns(record).map(|end_ns| Row {
            at: 0,
            start_ns: record.start_ns,
            end_ns,
            busy_ns: record.busy_ns.min(record.duration_ns),
            runnable_ns: runnable_ns(record, end_ns),
            tid: record.tid,
            count: u32::try_from(record.count).unwrap_or(u32::MAX),
            kind: kind(record),
            interruptible: record.state.is_some_and(|state| state & 3 == 1),
            switched: record.state.is_some(),
            stop: is_stopped(record).then(|| Stop::of(record.state.unwrap_or(0))),
            unfinished: false,
            cut: is(record, stall_flags::CUT | stall_flags::CALL_CUT),
            held: is(record, stall_flags::CPU_QUOTA),
            watched: is(record, stall_flags::WATCHED),
            call_start_ns: record.call_start_ns.filter(|&ns| ns <= record.start_ns).unwrap_or(0),
            while_running: record.kind == StallKind::OnCpu,
            accounted: Accounted::by(record),
            noted: noted(record),
            worker_tid: record.worker_tid.into(),
            behind_tid: record.behind_tid.into(),
            stack: record.stack.into(),
            request: record.request.into(),
            request_at: Maybe::NONE,
            announced: record.tracepoint.as_deref().and_then(Signal::from_name).and_then(Signal::meaning),
            detail: record.detail.as_ref().map(|detail| names.insert_detail(detail)),
            call: names.insert_some(record.call.as_ref()),
            work: names.insert_some(record.work.as_ref()),
            path: names.insert_some(record.path.as_ref()),
            cpu: record.cpu.into(),
            lock: record.lock.into(),
            holder_tid: record.holder_tid.into(),
            holder_is_hint: is(record, stall_flags::HOLDER_IS_HINT),
            waker_is_newer: is(record, stall_flags::WAKER_IS_NEWER),
            bytes: record.bytes.unwrap_or(0),
        })
    }
}

/// What the tracer noted. A stopped task waits for nobody.
fn noted(record: &StallRecord) -> Intent {
    Intent {
        what: record.awaits.filter(|_| !is_stopped(record)),
        whom: record.waker_tid.into(),
        whom_stack: record.waker_stack.into(),
        since_ns: record.asked_ns.into(),
        not_for_request: false,
        for_limit: false,
    }
}

/// What the kernel had accounted of a task when it left the CPU; 0: unknown.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Accounted {
    pub(crate) cpu_ns: u64,
    /// On run queues.
    pub(crate) run_delay_ns: u64,
}

impl Accounted {
    fn by(record: &StallRecord) -> Accounted {
        let (cpu_ns, run_delay_ns) = (record.cpu_ns.unwrap_or(0), record.run_delay_ns.unwrap_or(0));
        Accounted { cpu_ns, run_delay_ns }
    }
}

/// A wait reported while it lasts counts as a wait until the whole wait is recorded.
fn kind(record: &StallRecord) -> StallKind {
    match record.kind {
        StallKind::StillBlocked => StallKind::Blocked,
        // It ran before and after: the CPU time until then is as good as that of a switch.
        StallKind::OnCpu => StallKind::OffCpu,
        kind => kind,
    }
}

fn end_ns(record: &StallRecord) -> Option<u64> {
    (1..=LONGEST_NS).contains(&record.duration_ns).then(|| record.start_ns.checked_add(record.duration_ns))?
}

impl Row {
    /// Whether its task was stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.is_some()
    }

    /// What it waited for while it was runnable.
    pub(crate) fn runnable_cause(&self) -> Cause {
        if self.held { Cause::CpuThrottle } else { Cause::CpuWait }
    }
}

fn is(record: &StallRecord, flags: u32) -> bool {
    record.flags.is_some_and(|known| known & flags != 0)
}

/// A stopped task waits for nobody.
pub(crate) fn is_stopped(record: &StallRecord) -> bool {
    record.state.is_some_and(|state| state & STOPPED != 0)
}

fn runnable_ns(record: &StallRecord, end_ns: u64) -> u64 {
    let preempted = kind(record) == StallKind::OffCpu && record.state == Some(0);
    match record.woken_ns {
        _ if preempted => record.start_ns,
        // A wakeup may come just before the task leaves the CPU.
        Some(woken_ns) => woken_ns.clamp(record.start_ns, end_ns),
        None => end_ns,
    }
}

/// The latest sleep of a task that began by a moment and, but for the error of a poll, lasted until another.
pub(crate) fn latest_sleep<'a>(
    (rows, latest_ends_ns): (&'a [Row], &[u64]),
    from_ns: u64,
    to_ns: u64,
) -> Option<&'a Row> {
    let first = latest_ends_ns.partition_point(|latest_ns| latest_ns.saturating_add(POLL_ERROR_NS) < to_ns);
    let begun = &rows[first..rows.partition_point(|row| row.start_ns <= from_ns).max(first)];
    let lasts = |row: &&Row| row.kind == StallKind::OffCpu && row.end_ns.saturating_add(POLL_ERROR_NS) >= to_ns;
    begun.iter().rev().find(lasts)
}
