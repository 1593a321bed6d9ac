//! What a change of the machine or of a load does to recorded waits.

use serde::{Deserialize, Serialize};

use crate::cause::Cause;
use crate::occasion::Occasion;

/// A kind of wait that a change removes or shortens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Edge {
    /// The limit of a cgroup on a device.
    IoLimit,
    /// Service by the device. Requests that wait in front of it wait for that service.
    Device,
    /// Requests that fail at a device: time outs, errors, and what it takes to issue them again.
    DeviceError,
    /// The order in which an I/O scheduler serves requests.
    SchedulerQueue,
    /// Requests (tags), and throttling of writeback.
    RequestWait,
    /// Locks.
    Lock,
    /// Journals, logs and transactions of file systems.
    Journal,
    /// Memory that has to be reclaimed before it can be allocated.
    Memory,
    /// Reads of pages that the limit of a memory cgroup evicted before.
    Refault,
    /// Discards of unused blocks.
    Discard,
    /// Calls that write a file to its disk (fsync, fdatasync).
    Sync,
    /// Other calls that wait for the disk, because the file system is mounted so.
    SyncMount,
    /// Data that a commit of a journal writes first.
    OrderedData,
    /// Updates of access times.
    AccessTime,
    /// Writes that find no free space, and write all that is dirty first.
    NearlyFull,
    /// Caches of inodes and dentries that are shrunk.
    Shrinker,
    /// Memory that has to be compacted.
    Compaction,
    /// Pages that have to be read from swap.
    Swap,
    /// Pages of a mapping that have to be read.
    PageFault,
    /// Writers that are paused because too much is dirty.
    DirtyThrottle,
    /// Pages that have to be written first.
    Writeback,
    /// The run queue of a CPU.
    Cpu,
    /// The CPU quota of a cgroup.
    CpuQuota,
    /// A frozen file system.
    Frozen,
    /// A signal, a debugger or a freezer of cgroups that stopped a task.
    Stopped,
    /// The server of a file system.
    Server,
    /// The other end of a connection, a pipe or a terminal.
    Peer,
    /// What a task computes, the waiting one or one that it waits for.
    Work,
    /// A sleep by choice of a task that is waited for.
    Timer,
    /// All that one process or cgroup uses.
    Culprit,
}

/// Causes of waits for what a call did not ask for. The last is for another task that may do the same.
const OF_OCCASION: [Cause; 9] = [
    Cause::Journal,
    Cause::FsLog,
    Cause::FsTransaction,
    Cause::WritebackWait,
    Cause::IoThrottle,
    Cause::Device,
    Cause::SchedulerQueue,
    Cause::RequestWait,
    Cause::Lock,
];

/// Causes of waits within calls that write a file to its disk: the same without those for another task.
const SYNC: &[Cause] = OF_OCCASION.split_at(8).0;

impl Edge {
    /// What makes a call wait, where the edge is of such waits alone.
    pub const fn occasion(self) -> Option<Occasion> {
        match self {
            Edge::AccessTime => Some(Occasion::AccessTime),
            Edge::NearlyFull => Some(Occasion::NearlyFull),
            _ => None,
        }
    }

    /// The causes of the time that it takes. A culprit takes time of any cause.
    pub const fn causes(self) -> &'static [Cause] {
        match self {
            Edge::IoLimit => &[Cause::IoThrottle],
            Edge::Device => &[Cause::Device, Cause::SchedulerQueue, Cause::RequestWait],
            Edge::DeviceError => &[Cause::DeviceError],
            Edge::SchedulerQueue => &[Cause::SchedulerQueue],
            Edge::RequestWait => &[Cause::RequestWait],
            Edge::Lock => &[Cause::Lock],
            Edge::Journal => &[Cause::Journal, Cause::FsLog, Cause::FsTransaction],
            Edge::Memory => &[
                Cause::DirectReclaim,
                Cause::ReclaimThrottle,
                Cause::Shrinker,
                Cause::Compaction,
                Cause::Swap,
                Cause::OutOfMemory,
            ],
            Edge::Refault => {
                &[Cause::IoThrottle, Cause::Device, Cause::SchedulerQueue, Cause::RequestWait, Cause::PageFault]
            }
            Edge::Discard => &[Cause::IoThrottle, Cause::Device, Cause::SchedulerQueue, Cause::RequestWait],
            Edge::Sync | Edge::SyncMount | Edge::OrderedData => SYNC,
            Edge::AccessTime | Edge::NearlyFull => &OF_OCCASION,
            Edge::Shrinker => &[Cause::Shrinker],
            Edge::Compaction => &[Cause::Compaction],
            Edge::Swap => &[Cause::Swap],
            Edge::PageFault => &[Cause::PageFault],
            Edge::DirtyThrottle => &[Cause::DirtyThrottle],
            Edge::Writeback => &[Cause::WritebackWait],
            Edge::Cpu => &[Cause::CpuWait],
            Edge::CpuQuota => &[Cause::CpuThrottle],
            Edge::Frozen => &[Cause::Frozen],
            Edge::Stopped => &[Cause::Stopped],
            Edge::Server => &[Cause::NetworkFs, Cause::Fanotify],
            Edge::Peer => &[Cause::Peer],
            Edge::Work => &[Cause::Running],
            Edge::Timer => &[Cause::Sleep],
            Edge::Culprit => &[],
        }
    }

    /// Whether time of that cause is changed with it.
    pub fn changes(self, cause: Cause) -> bool {
        self.causes().contains(&cause)
    }
}

/// One kind of wait, changed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// Which kind.
    pub edge: Edge,
    /// It becomes this many times as fast; `None`: these waits are gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
    /// The change removes at most that: how much of it is unknown.
    #[serde(default)]
    pub at_most: bool,
}

impl Effect {
    /// These waits, gone.
    pub const fn gone(edge: Edge) -> Effect {
        Effect { edge, factor: None, at_most: false }
    }

    /// These waits, `factor` times as fast.
    pub const fn faster(edge: Edge, factor: f64) -> Effect {
        Effect { edge, factor: Some(factor), at_most: false }
    }
}
