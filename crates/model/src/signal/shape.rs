//! What signals are made of.

/// What of a wait the tracepoint reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SignalKind {
    /// Two tracepoints: the span lies between them.
    Pair,
    /// A tracepoint at the end of a span, which says how long it took.
    Span,
    /// A tracepoint that announces a wait: the task's next time off the CPU is that wait.
    Mark,
}

/// What the fields that the program copies say, and thus how they are worded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalDetail {
    /// Nothing.
    Nothing,
    /// The device of the file system: first word of a mark, `state` of a span.
    Device,
    /// Pages reclaimed.
    PagesReclaimed,
    /// Flags of a lock (`LCB_F_*`).
    LockFlags,
    /// Dirty pages and limits, of the machine and of a bdi.
    DirtyPages,
    /// Device and inode.
    Inode,
    /// The shrinker's function, and its file system.
    Shrinker,
    /// The reason of reclaim throttling (`VMSCAN_THROTTLE_*`).
    ThrottleReason,
    /// The phases of a journal's commit, in jiffies.
    JournalCommit,
    /// A name that was tried, or, where that is empty, the number of a port in the second word.
    Name,
}

/// A BPF program, the tracepoint that it is attached to, and the number of arguments of a tracepoint that fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TracepointProgram {
    /// Name of the program.
    pub name: &'static str,
    /// Name of the tracepoint.
    pub tracepoint: &'static str,
    /// Fewest arguments.
    pub fewest_arguments: usize,
    /// Most arguments.
    pub most_arguments: usize,
}

impl TracepointProgram {
    /// For a tracepoint with at least that many arguments; further ones do not matter.
    pub const fn at_least(name: &'static str, tracepoint: &'static str, arguments: usize) -> TracepointProgram {
        TracepointProgram { name, tracepoint, fewest_arguments: arguments, most_arguments: 12 }
    }

    /// For a tracepoint with exactly that many arguments.
    pub const fn exactly(name: &'static str, tracepoint: &'static str, arguments: usize) -> TracepointProgram {
        TracepointProgram { name, tracepoint, fewest_arguments: arguments, most_arguments: arguments }
    }
}
