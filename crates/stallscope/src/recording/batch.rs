//! Rows of the tracer on their way to the archive.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;

use model::stall::Traced;

/// Rows on their way to the archive.
pub struct Batch {
    /// The rows.
    pub rows: Traced,
    pub(super) bytes: usize,
    pub(super) queued: Arc<Queued>,
    pub(super) spare: SyncSender<Traced>,
}

impl Batch {
    /// Call when the rows have been taken or are not needed.
    pub fn done(mut self) {
        // Rows that no archive took must not come back as new rows.
        self.rows.clear();
        self.queued.add(self.bytes.wrapping_neg(), 1_usize.wrapping_neg());
        let _ = self.spare.try_send(self.rows);
    }
}

/// Size of what is on its way.
#[derive(Debug, Default)]
pub struct Queued {
    pub(super) bytes: AtomicUsize,
    pub(super) batches: AtomicUsize,
}

impl Queued {
    pub(super) fn add(&self, bytes: usize, batches: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.batches.fetch_add(batches, Ordering::Relaxed);
    }
}
