//! A thread's descriptors of its file.

use std::fs::File;

use crate::data::FileId;
use crate::io_failure::IoFailure;
use crate::work::Worker;

/// A thread's descriptors while it does the job.
pub(super) struct Opened {
    pub(super) id: FileId,
    /// For reads, and for writes without a second descriptor.
    pub(super) file: File,
    /// A second descriptor of the same file, for writes.
    pub(super) writer: Option<File>,
}

impl Opened {
    pub(super) fn writer(&self) -> &File {
        self.writer.as_ref().unwrap_or(&self.file)
    }

    /// Calls fsync.
    pub(super) fn sync(&self, worker: &mut Worker<'_>, class: usize) {
        let sync = || self.writer().sync_all().map(|()| 0).map_err(IoFailure::from);
        let _ = worker.time(class, Some(self.id), sync);
    }
}
