//! Limits on disks, and who waits for them again and again.

use model::block::DeviceNumber;

/// A limit on a disk whose rate is known, and the threads that it delays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IoLimit {
    /// The disk.
    pub device: DeviceNumber,
    /// It is on reads, not on writes.
    pub reads: bool,
    /// Bytes per second; `None`: any number.
    pub bytes_per_s: Option<u64>,
    /// Requests per second; `None`: any number.
    pub per_s: Option<u64>,
    /// The rate is what it let pass, and not read from its file.
    pub is_estimated: bool,
    /// Threads whose turns do not overlap.
    pub loops: Vec<Loop>,
}

/// A thread that makes one request after another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// The thread.
    pub tid: u32,
    /// Its turns are slow operations; of another thread, waits for requests.
    pub is_of_operations: bool,
    /// What is recorded of it individually, by start. Turns in between were short.
    pub turns: Vec<Turn>,
    /// What all of its turns moved, by time.
    pub moved: Vec<Moved>,
}

/// Bytes that a thread moved in a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    /// Its begin on the monotonic clock.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
    /// How many.
    pub bytes: u64,
}

/// A turn of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Start on the monotonic clock.
    pub start_ns: u64,
    /// What the limit delayed it, ns; 0: it did not.
    pub throttled_ns: u64,
    /// What else it took, ns.
    pub rest_ns: u64,
    /// Bytes that it asked for.
    pub bytes: u64,
}

impl Turn {
    /// What it took in all, ns.
    pub fn duration_ns(&self) -> u64 {
        self.throttled_ns + self.rest_ns
    }

    /// Its end.
    pub fn end_ns(&self) -> u64 {
        self.start_ns + self.duration_ns()
    }
}
