//! Sleeps that no operation holds, as stalls: a program that hangs is in the chart and in the list beside operations.

use explain::blame::{
    Cause, EvidenceTimes, Holds, Lanes, Link, OtherEnd, Piece, Sleep, Sleeps, Stall, StallCause, TaskId, TaskLane,
    TaskState,
};
use model::detail::OtherEnd as End;

/// A sleep, with what happened in it.
pub(crate) struct SleepStall {
    pub(crate) stall: Stall,
    pub(crate) lanes: Lanes,
}

/// Those that are described.
pub(crate) fn sleep_stalls(sleeps: &Sleeps, has_command: bool) -> Vec<SleepStall> {
    sleeps.longest.iter().map(|sleep| sleep_stall(sleep, has_command)).collect()
}

fn sleep_stall(sleep: &Sleep, has_command: bool) -> SleepStall {
    let cause = cause_of(sleep);
    let own = link(sleep, cause, None);
    let ends = sleep.other_ends.iter().map(|end| link(sleep, cause_of_end(end), Some(end)));
    let waker = sleep.waker.as_ref().filter(|_| sleep.other_ends.is_empty());
    let chain = std::iter::once(own).chain(ends).chain(waker.map(|waker| of_waker(sleep, waker)));
    let end_ns = sleep.start_ns.saturating_add(sleep.duration_ns);
    let piece = Piece { cause, start_ns: sleep.start_ns, end_ns };
    let stall = Stall {
        task: sleep.task.clone(),
        cgroup: None,
        of_command: has_command.then_some(true),
        operation: sleep.call.clone().unwrap_or_else(|| "outside of a system call".to_owned()),
        path: None,
        start_ns: sleep.start_ns,
        duration_ns: sleep.duration_ns,
        finished: !sleep.unfinished,
        cut: sleep.throughout,
        causes: vec![StallCause {
            cause,
            time_ns: sleep.duration_ns,
            evidence: EvidenceTimes::default(),
            detail: sleep.stack.clone(),
        }],
        chain: chain.collect(),
        request: None,
        served: None,
        user_stack: None,
        rules: Vec::new(),
    };
    let lanes = Lanes {
        tasks: vec![TaskLane { task: sleep.task.clone(), pieces: vec![piece] }],
        requests: Vec::new(),
        more_requests: 0,
    };
    SleepStall { stall, lanes }
}

/// What the task did that woke it is not known.
fn of_waker(sleep: &Sleep, waker: &TaskId) -> Link {
    Link { task: Some(waker.clone()), detail: None, ..link(sleep, Cause::Unexplained, None) }
}

/// The sleeping task, or who has the other end.
fn link(sleep: &Sleep, cause: Cause, end: Option<&OtherEnd>) -> Link {
    let through = end.map_or(&sleep.waits_for, |end| &end.through);
    let title = end.and_then(|end| end.title.as_deref());
    let words = [through.as_ref().map(ToString::to_string), title.map(str::to_owned)];
    let words: Vec<String> = words.into_iter().flatten().collect();
    Link {
        task: Some(end.map_or(&sleep.task, |end| &end.task).clone()),
        cause,
        detail: (!words.is_empty()).then(|| words.join("; ")),
        object: None,
        time_ns: sleep.duration_ns,
        span_ns: Some((sleep.start_ns, sleep.start_ns.saturating_add(sleep.duration_ns))),
        request: None,
        holds: end.map(|end| match end.through {
            Some(End::ServerLock | End::FileLock | End::Mutex) if end.is_certain => Holds::Exactly,
            _ => Holds::OtherEnd,
        }),
        kernel_stack: Vec::new(),
        user_stack: None,
    }
}

/// What it waits for, by the last of those that have the other ends, else by the other end itself.
fn cause_of(sleep: &Sleep) -> Cause {
    if sleep.cpu_quota.is_some() {
        return Cause::CpuThrottle;
    }
    let is_halted = |end: &OtherEnd| cause_of_end(end) == Cause::Stopped;
    if sleep.other_ends.last().is_some_and(is_halted) {
        return Cause::Stopped;
    }
    let through = sleep.other_ends.iter().filter_map(|end| end.through.as_ref()).chain(&sleep.waits_for);
    let causes: Vec<Cause> = through.map(cause_through).collect();
    let exact = causes.iter().find(|cause| **cause != Cause::Peer).or(causes.first());
    exact.copied().unwrap_or(Cause::Unexplained)
}

fn cause_through(end: &End) -> Cause {
    match end {
        End::ServerLock | End::FileLock | End::Mutex | End::SystemVSemaphore | End::SharedFutex => Cause::Lock,
        End::FuseServer | End::FuseRequests => Cause::NetworkFs,
        End::FanotifyListener => Cause::Fanotify,
        End::Timer => Cause::Sleep,
        _ => Cause::Peer,
    }
}

fn cause_of_end(end: &OtherEnd) -> Cause {
    match end.state {
        Some(TaskState::Frozen | TaskState::Stopped | TaskState::Traced) => Cause::Stopped,
        Some(TaskState::Running) => Cause::Running,
        _ => end.on.as_ref().map_or(Cause::Unexplained, cause_through),
    }
}
