//! What time is lost to.

use traits::*;

/// What causes have in common, one bit each.
pub mod traits {
    /// It is no wait.
    pub const NO_WAIT: u32 = 1;
    /// What a task does of itself, without a wait for anything.
    pub const CHOSEN: u32 = 1 << 1;
    /// A wait for a CPU: the task is not asleep.
    pub const FOR_CPU: u32 = 1 << 2;
    /// A wait for memory.
    pub const MEMORY: u32 = 1 << 3;
    /// A stage in the life of a block request.
    pub const STAGE: u32 = 1 << 4;
    /// A stage at the disk, or in its queue: a faster disk shortens it.
    pub const AT_DISK: u32 = 1 << 5;
    /// The chain of such a wait leads to the request that ended it.
    pub const ENDS_WITH_REQUEST: u32 = 1 << 6;
    /// A request may end such a wait, but the cause is no stage of it: a journal without space waits for the writes of
    /// its checkpoint.
    pub const HIDES_STAGES: u32 = 1 << 7;
    /// It ends when another task goes on.
    pub const FOR_TASK: u32 = 1 << 8;
    /// Several tasks wait for one thing at a time: a convoy.
    pub const SHARED: u32 = 1 << 9;
    /// A wait for the log of a file system.
    pub const LOG: u32 = 1 << 10;
    /// A wait for the answer of a server to the kernel.
    pub const SERVER: u32 = 1 << 11;
    /// A task made another one, or a file system, stand still.
    pub const HALTED: u32 = 1 << 12;
}

/// Declares the causes: one row each, with the variant, its name in JSON, the field's words for it, and its [`traits`].
macro_rules! causes {
    ($($(#[$doc:meta])* $cause:ident, $name:literal, $words:literal, $traits:expr;)*) => {
        /// What a task waited for, or did. The names are part of the JSON contract.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Cause {
            $($(#[$doc])* $cause,)*
        }

        impl Cause {
            /// All causes.
            pub const ALL: [Cause; TABLE.len()] = [$(Cause::$cause,)*];
        }

        const TABLE: &[Row] = &[$(Row { name: $name, words: $words, traits: $traits },)*];
    };
}

struct Row {
    name: &'static str,
    words: &'static str,
    traits: u32,
}

causes! {
    /// The task reclaimed memory itself before an allocation succeeded.
    DirectReclaim, "direct_reclaim", "direct reclaim", MEMORY | HIDES_STAGES;
    /// Reclaim throttled it, because too much reclaim or writeback was in flight.
    ReclaimThrottle, "reclaim_throttle", "reclaim throttling", MEMORY | HIDES_STAGES;
    /// It ran slab shrinkers (inodes, dentries, file-system caches) to get memory.
    Shrinker, "shrinker", "shrinkers", MEMORY;
    /// It compacted memory for a high-order allocation.
    Compaction, "compaction", "compaction", MEMORY;
    /// It was throttled because too much of the page cache is dirty.
    DirtyThrottle, "dirty_throttle", "dirty throttling", 0;
    /// It waited for dirty pages that were not yet submitted to the disk.
    WritebackWait, "writeback_wait", "writeback wait", ENDS_WITH_REQUEST | HIDES_STAGES | FOR_TASK;
    /// It waited for the jbd2 journal: a commit, a handle, space.
    Journal, "journal", "journal", LOG | HIDES_STAGES | FOR_TASK | SHARED;
    /// It waited for the XFS log: a log force, space.
    FsLog, "fs_log", "file system log", LOG | HIDES_STAGES | FOR_TASK | SHARED;
    /// It waited for a transaction, a reservation or background work of a file system without such a log.
    FsTransaction, "fs_transaction", "file system transaction", LOG | HIDES_STAGES | FOR_TASK | SHARED;
    /// Its I/O waited for a request (tag), or in a plug.
    RequestWait, "request_wait", "request (tag) wait", AT_DISK | STAGE | ENDS_WITH_REQUEST;
    /// Its request waited in the I/O scheduler.
    SchedulerQueue, "scheduler_queue", "I/O scheduler queue", AT_DISK | STAGE | ENDS_WITH_REQUEST;
    /// Its I/O was throttled by its cgroup.
    IoThrottle, "io_throttle", "cgroup I/O throttling", STAGE | ENDS_WITH_REQUEST;
    /// The device processed its request.
    Device, "device", "device", AT_DISK | STAGE | ENDS_WITH_REQUEST;
    /// Its request failed at the device: it timed out, came back with an error, or was tried again.
    DeviceError, "device_error", "device error or retry", STAGE | ENDS_WITH_REQUEST;
    /// The file system was frozen.
    Frozen, "frozen", "frozen file system", FOR_TASK | SHARED | HALTED;
    /// It waited for a lock held by another task.
    Lock, "lock", "lock", FOR_TASK | SHARED;
    /// It was runnable and waited on the run queue.
    CpuWait, "cpu_wait", "run-queue wait", FOR_CPU;
    /// Its cgroup had used up its CPU quota (CFS bandwidth).
    CpuThrottle, "cpu_throttle", "CPU quota", FOR_CPU;
    /// A page of a mapped file had to be read.
    PageFault, "page_fault", "page fault", ENDS_WITH_REQUEST | HIDES_STAGES;
    /// A page had to be read from swap.
    Swap, "swap", "swap-in", MEMORY | ENDS_WITH_REQUEST | HIDES_STAGES;
    /// It waited for io_uring or aio completions, which other tasks produce.
    IoWorker, "io_worker", "asynchronous I/O", 0;
    /// It waited for a file server.
    NetworkFs, "network_fs", "FUSE or network file system", FOR_TASK | SHARED | SERVER;
    /// It waited for the answer of a fanotify listener.
    Fanotify, "fanotify", "fanotify listener", FOR_TASK | SHARED | SERVER;
    /// It waited for the other end of a connection, a pipe or a terminal, of which nothing more is known.
    Peer, "peer", "network or pipe peer", 0;
    /// Its memory cgroup was full, and the OOM killer is off there.
    OutOfMemory, "out_of_memory", "out of memory", MEMORY;
    /// It was stopped by a signal, by a debugger, or with its cgroup.
    Stopped, "stopped", "stopped task", HALTED;
    /// The task that it waited for slept on a timer, because it wanted to.
    Sleep, "sleep", "voluntary sleep", CHOSEN;
    /// It was on a CPU.
    Running, "running", "running", NO_WAIT | CHOSEN;
    /// There is no evidence.
    Unexplained, "unexplained", "unexplained", NO_WAIT;
}

impl Cause {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        TABLE[self as usize].name
    }

    /// The field's words for it.
    pub const fn words(self) -> &'static str {
        TABLE[self as usize].words
    }

    /// Whether it has one of these [`traits`].
    pub const fn has(self, any: u32) -> bool {
        TABLE[self as usize].traits & any != 0
    }

    /// The cause of that name.
    pub fn from_name(name: &str) -> Option<Cause> {
        Cause::ALL.into_iter().find(|cause| cause.name() == name)
    }

    /// Whether it is a wait: neither running nor unexplained.
    pub const fn is_wait(self) -> bool {
        !self.has(NO_WAIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traits_hold_together() {
        for cause in Cause::ALL {
            assert_eq!(Cause::from_name(cause.name()), Some(cause));
            assert!(!cause.has(AT_DISK) || cause.has(STAGE), "{cause:?}");
            assert!(!cause.has(STAGE) || cause.has(ENDS_WITH_REQUEST), "{cause:?}");
            assert!(!(cause.has(STAGE) && cause.has(HIDES_STAGES)), "{cause:?}");
        }
    }
}
