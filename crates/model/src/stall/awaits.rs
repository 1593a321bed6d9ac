//! Whom a sleep outside of storage waits for.

use serde::{Deserialize, Serialize};

/// Whom a sleep waits for that only another task ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Awaits {
    /// A server: the task had sent a request to it, and received nothing since.
    Answer,
    /// The same, through a pipe to a descendant.
    AnswerOfChild,
    /// A task that it did not ask for anything: it is a server without a request, an event loop, a shell.
    Message,
    /// Another process that wakes it by futex: one that holds a lock, or has work for it. Also a kernel worker, whose
    /// work it flushes.
    Thread,
    /// No task: a timer, a device or another machine ended it. Recorded of a task that others wait for.
    Interrupt,
    /// A server that has answered: there may be more of the answer.
    PartOfAnswer,
    /// A task that reads what this one writes to a full pipe or socket.
    Room,
    /// The holder of a lock of user space: the futex's value is that of a contended mutex.
    Lock,
    /// A thread of its process that wakes it by futex, and may have work for it.
    Work,
    /// A child that ends.
    Child,
    /// Another task, while it works on a request of its own client.
    ForClient,
}

impl Awaits {
    /// All of them.
    pub const ALL: [Awaits; 11] = [
        Awaits::Answer,
        Awaits::AnswerOfChild,
        Awaits::Message,
        Awaits::Thread,
        Awaits::Interrupt,
        Awaits::PartOfAnswer,
        Awaits::Room,
        Awaits::Lock,
        Awaits::Work,
        Awaits::Child,
        Awaits::ForClient,
    ];

    /// Whether the task may wait for something that it asked for. Otherwise it is idle.
    pub fn is_asked(self) -> bool {
        !self.is_idle() && self != Awaits::Work
    }

    /// Whether the task has nothing to do until then.
    pub fn is_idle(self) -> bool {
        matches!(self, Awaits::Message | Awaits::Interrupt)
    }

    /// The name stored in the archive.
    pub fn name(self) -> &'static str {
        match self {
            Awaits::Answer => "answer",
            Awaits::AnswerOfChild => "answer_of_child",
            Awaits::Message => "message",
            Awaits::Thread => "thread",
            Awaits::Interrupt => "interrupt",
            Awaits::PartOfAnswer => "part_of_answer",
            Awaits::Room => "room",
            Awaits::Lock => "lock",
            Awaits::Work => "work",
            Awaits::Child => "child",
            Awaits::ForClient => "for_client",
        }
    }

    /// That of this name.
    pub fn from_name(name: &str) -> Option<Awaits> {
        Awaits::ALL.into_iter().find(|awaits| awaits.name() == name)
    }
}
