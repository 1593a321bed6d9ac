//! What a source reports.

/// An operation of the workload, or of the kernel on its behalf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation<'a> {
    /// `read`, `write`, `fsync`, ...: the classes of recordings, wherever they mean the same.
    pub class: &'a str,
    /// The task.
    pub tid: u32,
    /// Start.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
    /// Bytes transferred; 0 if the class transfers none.
    pub bytes: u64,
}

/// How a task left the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OffCpuState {
    /// In an uninterruptible sleep (`D`).
    Blocked,
    /// In a sleep that a signal may end (`S`).
    Sleeping,
    /// Stopped by a signal or a debugger (`T`, `t`).
    Stopped,
    /// It was runnable (`R`): another task ran in its place.
    Preempted,
    /// It left the CPU before the source began, or while events were lost.
    Unknown,
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WaitEnd {
    /// The task was on a CPU again.
    Ran,
    /// It had not ended when the source did.
    Unfinished,
    /// Events were lost: the wait lasted at least until then, and nothing is known of its end.
    Lost,
}

/// A task was off the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// The task.
    pub tid: u32,
    /// Start.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
    /// How it left the CPU.
    pub state: OffCpuState,
    /// When it was woken: from then on it waited on a run queue. `None`: not, or it is unknown when.
    pub woken_ns: Option<u64>,
    /// The stack in the kernel, as [`crate::RunWriter::stack`] numbered it: what explanations are made from.
    pub stack: Option<u32>,
    /// The task that ended the wait, if a task did; 0: an interrupt. `None`: unknown.
    pub waker_tid: Option<u32>,
    /// The request whose completion ended the wait: [`model::stall::RequestRecord::request`].
    pub request: Option<u32>,
    /// How it ended.
    pub end: WaitEnd,
}

impl Wait {
    /// A wait that a task ran after, in a sleep of that kind, with all else unknown.
    pub fn new(tid: u32, state: OffCpuState, start_ns: u64, end_ns: u64) -> Wait {
        Wait {
            tid,
            start_ns,
            end_ns,
            state,
            woken_ns: None,
            stack: None,
            waker_tid: None,
            request: None,
            end: WaitEnd::Ran,
        }
    }

    /// When it waited on a run queue from. `None`: it never did, as far as is known.
    pub fn runnable_since_ns(&self) -> Option<u64> {
        match self.state {
            OffCpuState::Preempted => Some(self.start_ns),
            _ => self.woken_ns,
        }
    }
}
