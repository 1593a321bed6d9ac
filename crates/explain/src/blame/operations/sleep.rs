//! Long sleeps outside of operations.

use model::detail::OtherEnd as End;
use model::system_call::{traits, traits_of};

use crate::blame::facts::task_id::TaskId;

/// Sleeps of the recorded command that are as long as a slow operation, and that none holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sleeps {
    /// How many, without the idle ones.
    pub count: u64,
    /// Sum of their durations, ns.
    pub total_ns: u64,
    /// The longest of them, the longest first.
    pub longest: Vec<Sleep>,
    /// Sleeps in calls in which programs wait for their next work.
    pub idle_count: u64,
    /// Sum of their durations, ns.
    pub idle_ns: u64,
    /// Those calls, the most frequent first.
    pub idle_calls: Vec<String>,
    /// How many of those that are not idle had not ended with the recording, and the longest of them, ns.
    pub unfinished: (u64, u64),
    /// How many of the idle ones lasted throughout the recording: a program that hangs looks the same.
    pub idle_throughout: u64,
}

/// Whether it is a call in which a parent waits for its child: never news, as the receive of an answer that does not
/// come is.
pub fn is_for_child(call: &str) -> bool {
    traits_of(call).has(traits::WAITS_FOR_CHILD | traits::VFORKS)
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sleep {
    /// The thread.
    pub task: TaskId,
    /// Its system call.
    pub call: Option<String>,
    /// Start on the monotonic clock.
    pub start_ns: u64,
    /// Duration, ns.
    pub duration_ns: u64,
    /// The CPU quota that held it: cgroup and quota, empty where these are unknown; `None` where none did.
    pub cpu_quota: Option<String>,
    /// It had not ended with the recording.
    pub unfinished: bool,
    /// It had not ended with the recording, and began before it.
    pub throughout: bool,
    /// It surely does not idle: somebody whom it waits for has not read what it was sent, or waits for a lock.
    pub hangs: bool,
    /// Innermost functions of its kernel stack.
    pub stack: Option<String>,
    /// What it waits for, where the call, the stack or /proc shows that: a semaphore, the other end of a FIFO.
    pub waits_for: Option<End>,
    /// The task that woke it; `None` where an interrupt did.
    pub waker: Option<TaskId>,
    /// Of a sleep that had not ended: the task at the other end of its wait, the task at the other end of that task's
    /// wait, and so on.
    pub other_ends: Vec<OtherEnd>,
}

/// What a task did when the recording ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    /// Its cgroup was frozen.
    Frozen,
    /// A signal had stopped it.
    Stopped,
    /// A debugger had stopped it.
    Traced,
    /// It ran, or was about to.
    Running,
    /// It slept.
    Asleep,
    /// Any thread of its process may be meant.
    Unknown,
}

impl TaskState {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            TaskState::Frozen => "frozen",
            TaskState::Stopped => "stopped",
            TaskState::Traced => "traced",
            TaskState::Running => "running",
            TaskState::Asleep => "asleep",
            TaskState::Unknown => "unknown",
        }
    }
}

/// Who has the other end of what a thread waits on, when the recording ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherEnd {
    /// The thread, or the first one of the process.
    pub task: TaskId,
    /// Through what: a connection, a pipe, a lock.
    pub through: Option<End>,
    /// Whether it is certain that the wait is for that one.
    pub is_certain: bool,
    /// What it has received and not read.
    pub unread_bytes: Option<u64>,
    /// What it says in its title that it does.
    pub title: Option<String>,
    /// `None` where it was not looked at.
    pub state: Option<TaskState>,
    /// The call that it sleeps in.
    pub call: Option<String>,
    /// What it waits on itself.
    pub on: Option<End>,
}
