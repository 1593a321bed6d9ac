//! Kinds of lost time.

use serde::{Deserialize, Serialize};

/// The kind of a [`StallRecord`](super::StallRecord).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StallKind {
    /// A system call on a file that took longer than the run's threshold: an operation to be explained.
    SystemCall,
    /// A task was off the CPU: it slept and then waited on the run queue, or was preempted.
    OffCpu,
    /// A task was blocked at consecutive polls. Covers waits that had not ended, and all waits
    /// where the kernel cannot be traced; start and end are as exact as the polls were frequent.
    Blocked,
    /// The same for a wait that has not ended, up to the last poll. It is repeated, at growing intervals, and the whole
    /// wait is recorded as [`StallKind::Blocked`] with the same start when it ends. A run that is read while it is
    /// written, or was cut off, thus shows the tasks that are stuck.
    StillBlocked,
    /// A task was between two tracepoints, on and off the CPU:
    /// [`StallRecord::tracepoint`](super::StallRecord::tracepoint) says which.
    Span,
    /// Sleeps too short to be recorded individually.
    ShortSleeps,
    /// Run-queue waits too short to be recorded individually.
    ShortCpuWaits,
    /// Spans of one tracepoint too short to be recorded individually.
    ShortSpans,
    /// Sleeps, each ended by a block request's completion, too short to be recorded individually.
    ShortRequestWaits,
    /// An asynchronous operation (io_uring, libaio) that took longer than the run's threshold, from its submission to
    /// its completion: an operation to be explained, beside what its task did meanwhile.
    Asynchronous,
    /// What a client waited for on one connection to a server of the same machine, if it took longer than the run's
    /// threshold: from what one of its threads sent, or received before, to what one of them received. `waker_tid` sent
    /// that, at `woken_ns`.
    ServerRequest,
    /// What a thread still waited for when the recording ended, as /proc showed it then:
    /// [`StallRecord::detail`](super::StallRecord::detail) is the object (a connection, a pipe, a FUSE server),
    /// [`StallRecord::holder_tid`](super::StallRecord::holder_tid) the task at its other end. The wait lasted at least
    /// since the start.
    #[serde(rename = "standing")]
    LastingWait,
    /// No loss, but a moment at which a task ran, of 1 ns: it woke another one, or answered a request that had come
    /// before the recording. [`StallRecord::cpu_ns`](super::StallRecord::cpu_ns) is what it had used until then;
    /// `awaits` and `asked_ns` say whose request it worked on.
    OnCpu,
}

impl StallKind {
    /// All kinds.
    pub const ALL: [StallKind; 13] = [
        StallKind::SystemCall,
        StallKind::OffCpu,
        StallKind::Blocked,
        StallKind::StillBlocked,
        StallKind::Span,
        StallKind::ShortSleeps,
        StallKind::ShortCpuWaits,
        StallKind::ShortSpans,
        StallKind::ShortRequestWaits,
        StallKind::Asynchronous,
        StallKind::ServerRequest,
        StallKind::LastingWait,
        StallKind::OnCpu,
    ];

    /// The name stored in the archive.
    pub fn name(self) -> &'static str {
        match self {
            StallKind::SystemCall => "system_call",
            StallKind::OffCpu => "off_cpu",
            StallKind::Blocked => "blocked",
            StallKind::StillBlocked => "still_blocked",
            StallKind::Span => "span",
            StallKind::ShortSleeps => "short_sleeps",
            StallKind::ShortCpuWaits => "short_cpu_waits",
            StallKind::ShortSpans => "short_spans",
            StallKind::ShortRequestWaits => "short_request_waits",
            StallKind::Asynchronous => "asynchronous",
            StallKind::ServerRequest => "server_request",
            StallKind::LastingWait => "standing",
            StallKind::OnCpu => "on_cpu",
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<StallKind> {
        StallKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::StallKind;

    /// Archives hold these names, whatever the kinds are called here.
    #[test]
    fn stored_names_stay_readable() {
        for kind in StallKind::ALL {
            assert_eq!(StallKind::from_name(kind.name()), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        assert_eq!(StallKind::from_name("standing"), Some(StallKind::LastingWait));
    }
}
