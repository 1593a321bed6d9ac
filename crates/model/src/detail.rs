//! What is known of a lost time beside its length: what the fields of its tracepoint say, which cgroup held the task,
//! or what is at the other end of what it waits on.

mod other_end;
mod stored;
mod words;

use serde::{Deserialize, Serialize};

use crate::block::DeviceNumber;

pub use other_end::{OtherEnd, Progress};
pub use stored::{DETAIL_TYPES, DetailType, Names, Numbers};
pub use words::{LOCK_MUTEX, LOCK_PERCPU, LOCK_READ, LOCK_RT, LOCK_WRITE};

/// One fact. Programs match on it; [`Display`](std::fmt::Display) is for people.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Detail {
    /// Of `contention_begin`: its flags, `LCB_F_*` of <trace/events/lock.h> (Linux 5.19 to 6.18).
    LockFlags(u32),
    /// Of `balance_dirty_pages`.
    DirtyPages(DirtyPages),
    /// The inode whose page a task waits for.
    Inode {
        /// Its number.
        inode: u64,
        /// The file system's device.
        device: DeviceNumber,
    },
    /// The file system's device.
    Device(DeviceNumber),
    /// Of `mm_vmscan_direct_reclaim`: pages.
    PagesReclaimed(u64),
    /// Of `mm_shrink_slab`.
    Shrinker {
        /// The kernel's function that shrinks.
        function: String,
        /// The type of the file system whose cache it is, and the name of its device.
        file_system: Option<(String, String)>,
    },
    /// Of `mm_vmscan_throttled`: the reason, a bit of `VMSCAN_THROTTLE_*` of <linux/mmzone.h> (Linux 5.16 to 6.18).
    ThrottleReason(u32),
    /// Of `jbd2_run_stats`.
    JournalCommit(JournalCommit),
    /// The CPU quota that held a task.
    CpuQuota(CpuQuota),
    /// The freezer that held a task.
    Freezer(Freezer),
    /// What is at the other end of what a thread waited on when the recording ended.
    OtherEnd(OtherEnd),
    /// Of a call that writes a file to its disk: the file's size then, bytes.
    FileSize(u64),
    /// A name that was tried in vain: of a lock file or folder, of a socket or a port.
    Name(String),
    /// What an earlier version of the program wrote in words that no other variant has.
    Words(String),
}

/// Dirty pages as a throttled writer found them. The kernel counts pages; these are bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DirtyPages {
    /// All that the limit is for: those of the machine, or of a memory cgroup.
    pub dirty_bytes: u64,
    /// The limit.
    pub limit_bytes: u64,
    /// The backing device that is written to, as the kernel calls it: `8:0`, `btrfs-1`.
    pub backing_device: String,
    /// Its number, if it has one.
    pub device: Option<DeviceNumber>,
    /// Of them, those of the backing device.
    pub device_dirty_bytes: u64,
    /// The backing device's part of the limit.
    pub device_limit_bytes: u64,
    /// How fast the writer may make pages dirty, in bytes a second.
    pub allowed_bytes_per_s: u64,
}

/// The phases of a journal's commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct JournalCommit {
    /// The journal's device.
    pub device: DeviceNumber,
    /// Waiting for handles that were open.
    pub locked_ms: u64,
    /// Writing data.
    pub flushing_ms: u64,
    /// Writing the journal.
    pub logging_ms: u64,
    /// Handles of the transaction.
    pub handles: u64,
    /// Blocks of the journal.
    pub blocks: u64,
}

/// A limit of CPU time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CpuQuota {
    /// The path of the cgroup that has it.
    pub cgroup: String,
    /// CPU time in each period.
    pub quota_ns: u64,
    /// The period.
    pub period_ns: u64,
}

/// A cgroup that was frozen.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Freezer {
    /// Its path.
    pub cgroup: String,
    /// Whether it is one of version 2; earlier versions of the program did not say so.
    pub is_v2: bool,
    /// The process that froze it for a client; 0: the one that is known as the row's holder did so for itself.
    pub through: u32,
}

impl Detail {
    /// The device of the file system or journal that it is about. That of [`DirtyPages`] is a disk.
    pub fn device(&self) -> Option<DeviceNumber> {
        match self {
            Detail::Inode { device, .. } | Detail::Device(device) => Some(*device),
            Detail::JournalCommit(commit) => Some(commit.device),
            Detail::DirtyPages(pages) => pages.device,
            _ => None,
        }
    }

    /// The path of the cgroup that held the task.
    pub fn cgroup(&self) -> Option<&str> {
        match self {
            Detail::CpuQuota(quota) => Some(&quota.cgroup),
            Detail::Freezer(freezer) => Some(&freezer.cgroup),
            _ => None,
        }
    }

    /// The CPU quota.
    pub fn cpu_quota(&self) -> Option<&CpuQuota> {
        if let Detail::CpuQuota(quota) = self { Some(quota) } else { None }
    }

    /// The freezer.
    pub fn freezer(&self) -> Option<&Freezer> {
        if let Detail::Freezer(freezer) = self { Some(freezer) } else { None }
    }

    /// The dirty pages.
    pub fn dirty_pages(&self) -> Option<&DirtyPages> {
        if let Detail::DirtyPages(pages) = self { Some(pages) } else { None }
    }

    /// The other end.
    pub fn other_end(&self) -> Option<&OtherEnd> {
        if let Detail::OtherEnd(end) = self { Some(end) } else { None }
    }
}
