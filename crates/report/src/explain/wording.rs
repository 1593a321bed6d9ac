//! Causes in words.

use explain::blame::Cause;

/// The cause in the field's words.
pub fn words(cause: Cause) -> &'static str {
    match cause {
        Cause::DirectReclaim => "direct reclaim",
        Cause::ReclaimThrottle => "reclaim throttling",
        Cause::Shrinker => "shrinkers",
        Cause::Compaction => "compaction",
        Cause::DirtyThrottle => "dirty throttling",
        Cause::WritebackWait => "writeback wait",
        Cause::Journal => "journal",
        Cause::FsLog => "file system log",
        Cause::FsTransaction => "file system transaction",
        Cause::RequestWait => "request (tag) wait",
        Cause::SchedulerQueue => "I/O scheduler queue",
        Cause::IoThrottle => "cgroup I/O throttling",
        Cause::Device => "device",
        Cause::DeviceError => "device error or retry",
        Cause::Frozen => "frozen file system",
        Cause::Lock => "lock",
        Cause::CpuWait => "run-queue wait",
        Cause::CpuThrottle => "CPU quota",
        Cause::PageFault => "page fault",
        Cause::Swap => "swap-in",
        Cause::IoWorker => "asynchronous I/O",
        Cause::NetworkFs => "FUSE or network file system",
        Cause::Fanotify => "fanotify listener",
        Cause::Peer => "network or pipe peer",
        Cause::OutOfMemory => "out of memory",
        Cause::Stopped => "stopped task",
        Cause::Sleep => "voluntary sleep",
        Cause::Running => "running",
        Cause::Unexplained => "unexplained",
    }
}
