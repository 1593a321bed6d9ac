//! Who used what is scarce: devices, CPUs, the page cache and memory, by process and interval.

use serde::{Deserialize, Serialize};

use crate::block::DeviceNumber;

/// What was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Reads that a device completed, for the task that submitted them or that they are for.
    DeviceRead,
    /// Writes that a device completed; those of writeback for the task that made the file dirty.
    DeviceWrite,
    /// Other requests of a device: flushes, discards.
    DeviceOther,
    /// Writes of a file system's metadata and of its journal. The task that submits them does so for all who changed
    /// it.
    DeviceMetadata,
    /// Blocks that a process added to the journal (jbd2) of the file system on a device, or units of 512 bytes that it
    /// used of a reservation in the log of XFS.
    Journal,
    /// Inodes that a process made dirty: new ones, mostly.
    Inodes,
    /// Time on one CPU, in runs of at least 100 us.
    Cpu,
    /// The same while a process waited on the run queue of that CPU.
    RunQueue,
    /// Bytes that a process read from any device.
    Reads,
    /// Bytes that a process made dirty in the page cache, or wrote by direct I/O.
    Dirtied,
    /// Memory that a process filled: what it read, made dirty, and its growth of anonymous and shared memory.
    Memory,
}

impl Resource {
    /// All of them.
    pub const ALL: [Resource; 11] = [
        Resource::DeviceRead,
        Resource::DeviceWrite,
        Resource::DeviceOther,
        Resource::DeviceMetadata,
        Resource::Journal,
        Resource::Inodes,
        Resource::Cpu,
        Resource::RunQueue,
        Resource::Reads,
        Resource::Dirtied,
        Resource::Memory,
    ];

    /// Whether it is the time of a device.
    pub fn is_device(self) -> bool {
        use Resource::{DeviceMetadata, DeviceOther, DeviceRead, DeviceWrite};
        matches!(self, DeviceRead | DeviceWrite | DeviceOther | DeviceMetadata)
    }

    /// The name stored in the archive.
    pub fn name(self) -> &'static str {
        match self {
            Resource::DeviceRead => "device_read",
            Resource::DeviceWrite => "device_write",
            Resource::DeviceOther => "device_other",
            Resource::DeviceMetadata => "device_metadata",
            Resource::Journal => "journal",
            Resource::Inodes => "inodes",
            Resource::Cpu => "cpu",
            Resource::RunQueue => "run_queue",
            Resource::Reads => "reads",
            Resource::Dirtied => "dirtied",
            Resource::Memory => "memory",
        }
    }

    /// The resource of that name.
    pub fn from_name(name: &str) -> Option<Resource> {
        Resource::ALL.into_iter().find(|resource| resource.name() == name)
    }
}

/// What one process used of one resource within one interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRecord {
    /// Interval's start on the monotonic clock.
    pub start_ns: u64,
    /// Interval's end on the monotonic clock.
    pub end_ns: u64,
    /// What was used.
    pub resource: Resource,
    /// Of a device: the disk. Of a journal: the disk or partition of its file system.
    pub device: Option<DeviceNumber>,
    /// Of a CPU: its number.
    pub cpu: Option<u32>,
    /// The process; `None`: all others, or unknown.
    pub pid: Option<u32>,
    /// Of a device: the thread of that process; `None`: its first one, or several.
    pub thread: Option<u32>,
    /// Of a run queue: the process that waited.
    pub waiting: Option<u32>,
    /// The cgroup that the use counts for: that of the memory controller for memory, of the I/O controller for a
    /// device, of the CPU controller for a CPU (v1), or the cgroup (v2), as a path below the hierarchy's root. `None`
    /// where it is unknown.
    pub cgroup: Option<String>,
    /// The cgroup at or above [`UsageRecord::cgroup`] whose limit on the device or on memory, or whose CPU quota, is
    /// the tightest.
    pub limit: Option<String>,
    /// Requests, blocks of a journal, inodes, or runs on a CPU.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
    /// Time of the device or CPU.
    pub busy_ns: u64,
    /// Requests of the count that were throttled by their cgroup.
    pub throttled: u64,
}

impl UsageRecord {
    /// Whose use it is not known, of nothing yet.
    pub fn new(resource: Resource, start_ns: u64, end_ns: u64) -> UsageRecord {
        UsageRecord {
            start_ns,
            end_ns,
            resource,
            device: None,
            cpu: None,
            pid: None,
            thread: None,
            waiting: None,
            cgroup: None,
            limit: None,
            count: 0,
            bytes: 0,
            busy_ns: 0,
            throttled: 0,
        }
    }

    /// How much it is, to compare it with other uses of the same resource: time of a device or CPU, a number of blocks
    /// or inodes, else bytes.
    pub fn amount(&self) -> u64 {
        match self.resource {
            Resource::Journal | Resource::Inodes => self.count,
            Resource::Reads | Resource::Dirtied | Resource::Memory => self.bytes,
            _ => self.busy_ns,
        }
    }

    /// Adds the use of another process to it.
    pub fn add(&mut self, other: &UsageRecord) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.busy_ns += other.busy_ns;
        self.throttled += other.throttled;
    }

    /// Takes away a part of it.
    pub fn take_away(&mut self, part: &UsageRecord) {
        self.count = self.count.saturating_sub(part.count);
        self.bytes = self.bytes.saturating_sub(part.bytes);
        self.busy_ns = self.busy_ns.saturating_sub(part.busy_ns);
        self.throttled = self.throttled.saturating_sub(part.throttled);
    }
}
