//! `usage`: who used devices, CPUs, the page cache and memory.

use arrow_array::ArrayRef;
use model::block::DeviceNumber;
use model::usage::{Resource, UsageRecord};

use super::cell::{Cell, Later};
use super::declare::columns;
use super::definition::{Column, Priority, Table};
use super::reader::{ColumnError, Columns};

/// One row for each process, resource and interval in which it used any; those who used little are one row.
pub(crate) struct UsageTable;

impl Table for UsageTable {
    type Row = UsageRecord;
    const NAME: &'static str = "usage";
    const PRIORITY: Priority = Priority::Trace;

    columns! { UsageRecord;
        /// start of the interval
        start_ns: u64, "nanoseconds";
        /// end of the interval
        end_ns: u64, "nanoseconds";
        /// `device_read`, `device_write`, `device_other` (flushes, discards), `device_metadata` (writes of metadata and
        /// journals, which serve all who changed them; `pid` is the submitter), `journal` (blocks added to a jbd2
        /// journal; of the log of XFS, 512 bytes of reservation used), `inodes` (made dirty), `cpu` (in runs of at
        /// least 100 us), `run_queue` (the same while a process waited for at least a millisecond to run on that CPU),
        /// `reads` (from any device), `dirtied` (in the page cache, or written by direct I/O; rows that begin before
        /// the recording have what a process wrote by then, and the disk of its files), `memory` (reads, dirtied, and
        /// growth of anonymous and shared memory)
        resource: Resource, "text";
        /// of a device: as in `requests`; of a journal: disk or partition of its file system
        device: Option<DeviceNumber>, "text";
        /// of a CPU: its number
        cpu: Option<u32>, "id";
        /// process that used it, or for which a kernel worker did; null: all others, or unknown
        pid: Option<u32>, "id";
        /// of a device: thread of that process; null: its first one, or several
        thread: Later<u32>, "id";
        /// of `run_queue`: process that waited
        waiting: Later<u32>, "id";
        /// cgroup that the use counts for, below the root of the I/O controller's hierarchy (device) or of the memory
        /// controller's; of a CPU the CPU controller's, for at least 1 ms; null: unknown
        cgroup: Option<String>, "text";
        /// cgroup at or above it that has the tightest limit on the device, on memory, or quota of CPU time
        limit: Option<String>, "text";
        /// requests, blocks of a journal, inodes, or runs
        count: u64, "count";
        /// bytes
        bytes: u64, "bytes";
        /// time of the device, which it worked on one request at a time, or of the CPU
        busy_ns: u64, "nanoseconds";
        /// requests of the count that were throttled by their cgroup
        throttled: u64, "requests";
    }

    fn span_ns(row: &UsageRecord) -> Option<(u64, u64)> {
        Some((row.start_ns, row.end_ns))
    }

    fn weight(row: &UsageRecord) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        size_of::<UsageRecord>() + text(&row.cgroup) + text(&row.limit)
    }
}
