//! System calls on a file that the standard library lacks.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};

/// Writes back the whole range and waits for it.
pub(super) const SYNC_RANGE_FLAGS: u32 =
    libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;

/// Closes a file and returns the result: some file systems report write errors only at close.
pub(crate) fn close(file: OwnedFd) -> io::Result<()> {
    // SAFETY: the descriptor is owned and not used afterwards.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Writes back a range of a file (0 bytes: from `offset` to the end) and waits for it. Neither metadata nor the disk's
/// cache is written back.
pub(crate) fn sync_file_range(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    // SAFETY: takes numbers only, and the descriptor is open.
    match unsafe { libc::sync_file_range(file.as_raw_fd(), offset as i64, bytes as i64, SYNC_RANGE_FLAGS) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
