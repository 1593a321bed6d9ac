//! What each task of a world did at each moment, and for whom it waited.

use crate::clock::Clock;
use crate::plan::{Resource, Subject};

/// What a task that is not on a CPU waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// For a CPU, without a sleep.
    Cpu,
    /// For a lock, which that task had when the wait began.
    Lock {
        resource: usize,
        found: usize,
    },
    /// For the answer of that server.
    Answer {
        server: usize,
    },
    Disk {
        before: u64,
        queue: u64,
        throttled: bool,
    },
    Log {
        journal: bool,
    },
    /// For that thread of a journal.
    Commit {
        thread: usize,
    },
    /// For the next request.
    Message,
}

/// A time off the CPU, in ticks: asleep until `woken`, then on the run queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    pub(crate) what: What,
    pub(crate) start: u64,
    pub(crate) woken: u64,
    pub(crate) end: u64,
    /// The task that ended the sleep; of a request or a log none of the plan's.
    pub(crate) waker: Option<usize>,
}

/// A request to a server, in ticks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Served {
    pub(crate) client: usize,
    pub(crate) asked: u64,
    pub(crate) taken: u64,
    pub(crate) sent: u64,
}

/// An act of a plan, in ticks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// It is one call to the kernel, not a use of a server or of a mutex of user space.
    pub(crate) is_call: bool,
}

/// All that a task did. Where it does not wait, it runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Life {
    pub(crate) waits: Vec<Wait>,
    pub(crate) acts: Vec<Span>,
    /// Of a server, in order.
    pub(crate) served: Vec<Served>,
}

#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) clock: Clock,
    pub(crate) subject: Subject,
    pub(crate) resources: Vec<Resource>,
    /// Of the plan's tasks, then of a server for each resource: those of locks never live.
    pub(crate) lives: Vec<Life>,
    pub(crate) clients: usize,
    /// For each lock, its owners from some tick on.
    pub(crate) owners: Vec<Vec<(u64, Option<usize>)>>,
    pub(crate) end: u64,
}

impl World {
    pub(crate) fn owner(&self, resource: usize, at: u64) -> Option<usize> {
        let owners = &self.owners[resource];
        owners[..owners.partition_point(|(from, _)| *from <= at)].last()?.1
    }

    /// The wait of a task in a tick; `None` where it ran.
    pub(crate) fn wait(&self, task: usize, at: u64) -> Option<&Wait> {
        let waits = &self.lives[task].waits;
        waits.get(waits.partition_point(|wait| wait.end <= at)).filter(|wait| wait.start <= at)
    }
}
