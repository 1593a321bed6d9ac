//! Whether a run is being written.

use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::directory::JOURNAL_FILE;
use crate::input::open;

/// The writer holds a lock on the journal as long as it lives.
pub(super) fn is_locked(dir: &Path) -> bool {
    let Ok(journal) = open(dir, JOURNAL_FILE) else { return false };
    flock(&journal.file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
}
