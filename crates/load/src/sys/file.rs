//! System calls on one file that the standard library lacks.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};

/// Writes back the whole range and waits for it.
pub(super) const SYNC_RANGE_FLAGS: u32 =
    libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;

/// Closes a file and says whether that went well: some file systems report only now that data could not be written.
pub(crate) fn close(file: OwnedFd) -> io::Result<()> {
    // SAFETY: the descriptor is owned, so nobody uses it after this.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Writes back a stretch of a file (0 bytes: all from `offset` on) and waits until that is done. Neither metadata nor the disk's own cache is written back.
pub(crate) fn sync_file_range(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    // SAFETY: takes numbers only, and the descriptor is open.
    match unsafe { libc::sync_file_range(file.as_raw_fd(), offset as i64, bytes as i64, SYNC_RANGE_FLAGS) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
