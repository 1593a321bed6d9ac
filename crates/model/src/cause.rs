//! What time is lost to.

/// What a task waited for, or did. The names are part of the JSON contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Cause {
    /// The task reclaimed memory itself before an allocation succeeded.
    DirectReclaim,
    /// Reclaim throttled it, because too much reclaim or writeback was in flight.
    ReclaimThrottle,
    /// It ran slab shrinkers (inodes, dentries, file-system caches) to get memory.
    Shrinker,
    /// It compacted memory for a high-order allocation.
    Compaction,
    /// It was throttled because too much of the page cache is dirty.
    DirtyThrottle,
    /// It waited for dirty pages that were not yet submitted to the disk.
    WritebackWait,
    /// It waited for the jbd2 journal: a commit, a handle, space.
    Journal,
    /// It waited for the XFS log: a log force, space.
    FsLog,
    /// It waited for a transaction, a reservation or background work of a file system without such a log.
    FsTransaction,
    /// Its I/O waited for a request (tag), or in a plug.
    RequestWait,
    /// Its request waited in the I/O scheduler.
    SchedulerQueue,
    /// Its I/O was throttled by its cgroup.
    IoThrottle,
    /// The device processed its request.
    Device,
    /// Its request failed at the device: it timed out, came back with an error, or was tried again.
    DeviceError,
    /// The file system was frozen.
    Frozen,
    /// It waited for a lock held by another task.
    Lock,
    /// It was runnable and waited on the run queue.
    CpuWait,
    /// Its cgroup had used up its CPU quota (CFS bandwidth).
    CpuThrottle,
    /// A page of a mapped file had to be read.
    PageFault,
    /// A page had to be read from swap.
    Swap,
    /// It waited for io_uring or aio completions, which other tasks produce.
    IoWorker,
    /// It waited for a file server.
    NetworkFs,
    /// It waited for the answer of a fanotify listener.
    Fanotify,
    /// It waited for the other end of a connection, a pipe or a terminal, of which nothing more is known.
    Peer,
    /// Its memory cgroup was full, and the OOM killer is off there.
    OutOfMemory,
    /// It was stopped by a signal, by a debugger, or with its cgroup.
    Stopped,
    /// The task that it waited for slept on a timer, because it wanted to.
    Sleep,
    /// It was on a CPU.
    Running,
    /// There is no evidence.
    Unexplained,
}

impl Cause {
    /// All causes.
    pub const ALL: [Cause; 29] = [
        Cause::DirectReclaim,
        Cause::ReclaimThrottle,
        Cause::Shrinker,
        Cause::Compaction,
        Cause::DirtyThrottle,
        Cause::WritebackWait,
        Cause::Journal,
        Cause::FsLog,
        Cause::FsTransaction,
        Cause::RequestWait,
        Cause::SchedulerQueue,
        Cause::IoThrottle,
        Cause::Device,
        Cause::DeviceError,
        Cause::Frozen,
        Cause::Lock,
        Cause::CpuWait,
        Cause::CpuThrottle,
        Cause::PageFault,
        Cause::Swap,
        Cause::IoWorker,
        Cause::NetworkFs,
        Cause::Fanotify,
        Cause::Peer,
        Cause::OutOfMemory,
        Cause::Stopped,
        Cause::Sleep,
        Cause::Running,
        Cause::Unexplained,
    ];

    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::DirectReclaim => "direct_reclaim",
            Cause::ReclaimThrottle => "reclaim_throttle",
            Cause::Shrinker => "shrinker",
            Cause::Compaction => "compaction",
            Cause::DirtyThrottle => "dirty_throttle",
            Cause::WritebackWait => "writeback_wait",
            Cause::Journal => "journal",
            Cause::FsLog => "fs_log",
            Cause::FsTransaction => "fs_transaction",
            Cause::RequestWait => "request_wait",
            Cause::SchedulerQueue => "scheduler_queue",
            Cause::IoThrottle => "io_throttle",
            Cause::Device => "device",
            Cause::DeviceError => "device_error",
            Cause::Frozen => "frozen",
            Cause::Lock => "lock",
            Cause::CpuWait => "cpu_wait",
            Cause::CpuThrottle => "cpu_throttle",
            Cause::PageFault => "page_fault",
            Cause::Swap => "swap",
            Cause::IoWorker => "io_worker",
            Cause::NetworkFs => "network_fs",
            Cause::Fanotify => "fanotify",
            Cause::Peer => "peer",
            Cause::OutOfMemory => "out_of_memory",
            Cause::Stopped => "stopped",
            Cause::Sleep => "sleep",
            Cause::Running => "running",
            Cause::Unexplained => "unexplained",
        }
    }

    /// The cause of that name.
    pub fn from_name(name: &str) -> Option<Cause> {
        Cause::ALL.into_iter().find(|cause| cause.name() == name)
    }

    /// Whether it is a wait: neither running nor unexplained.
    pub const fn is_wait(self) -> bool {
        !matches!(self, Cause::Running | Cause::Unexplained)
    }
}
