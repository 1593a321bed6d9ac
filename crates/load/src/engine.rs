//! I/O engines: synchronous calls, io_uring, or no I/O.

mod blocking;
mod open;

pub(crate) use blocking::{BlockingEngine, NullEngine, SyncEngine};
pub(crate) use open::{OpenError, alignment_in, open};
use serde::{Deserialize, Serialize};

/// The engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EngineKind {
    /// `pread(2)` and `pwrite(2)`.
    Sync,
    /// io_uring with a registered file and registered buffers.
    IoUring,
    /// NullEngine is done: what remains is the load's own cost.
    Null,
}

/// How writes become durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SyncMethod {
    /// `O_SYNC`: each write.
    OSync,
    /// `O_DSYNC`: each write's data.
    ODsync,
    /// `fsync(2)` after some writes.
    Fsync,
    /// `fdatasync(2)` after some writes.
    Fdatasync,
    /// `sync_file_range(2)` after some writes; it promises nothing after a crash.
    SyncFileRange,
}

impl SyncMethod {
    /// The class of the calls, where there are any.
    pub(crate) fn class(self) -> Option<&'static str> {
        match self {
            SyncMethod::OSync | SyncMethod::ODsync => None,
            SyncMethod::Fsync => Some("fsync"),
            SyncMethod::Fdatasync => Some("fdatasync"),
            SyncMethod::SyncFileRange => Some("sync_file_range"),
        }
    }
}
