//! Opening files for engines, with direct I/O alignment.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{AtFlags, OFlags, StatxFlags};

use super::SyncMethod;
use crate::data::FilePlace;

/// `STATX_DIOALIGN` (Linux 6.1): alignment of direct I/O on the file.
const DIOALIGN: StatxFlags = StatxFlags::from_bits_retain(0x2000);

/// Opens a file for reading and writing. `direct`: with O_DIRECT, for blocks of that size.
pub(crate) fn open(place: &FilePlace<'_>, direct: Option<u64>, sync: Option<SyncMethod>) -> Result<File, OpenError> {
    let direct_flag = if direct.is_some() { OFlags::DIRECT } else { OFlags::empty() };
    let sync_flag = match sync {
        Some(SyncMethod::OSync) => OFlags::SYNC,
        Some(SyncMethod::ODsync) => OFlags::DSYNC,
        _ => OFlags::empty(),
    };
    let path = place.directory.path().join(&place.name);
    let file = match place.open(OFlags::RDWR | direct_flag | sync_flag) {
        Err(error) if direct.is_some() && error.raw_os_error() == Some(libc::EINVAL) => {
            return Err(OpenError::Unfit(format!(
                "{}: its file system does not support direct I/O; omit --direct",
                path.display()
            )));
        }
        file => file.map_err(OpenError::Failed)?,
    };
    if let Some(block_bytes) = direct {
        refuse_misfit(&file, &path, block_bytes)?;
    }
    Ok(file)
}

/// Why a file could not be opened.
#[derive(Debug)]
pub(crate) enum OpenError {
    /// A system call failed.
    Failed(io::Error),
    /// The file cannot be used in that way; the message has the remedy.
    Unfit(String),
}

fn refuse_misfit(file: &File, path: &Path, block_bytes: u64) -> Result<(), OpenError> {
    match alignment(file) {
        Some(0) => {
            Err(OpenError::Unfit(format!("{}: direct I/O is not supported on it; omit --direct", path.display())))
        }
        Some(align) if !block_bytes.is_multiple_of(align) => Err(OpenError::Unfit(format!(
            "{}: direct I/O requires multiples of {align} bytes, and {block_bytes} is not one; choose another \
             --block-size, or omit --direct",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Alignment of direct I/O on a file, in bytes; 0: not supported. `None`: the kernel does not report it, and the first
/// operation fails instead.
fn alignment(file: &File) -> Option<u64> {
    let stat = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, DIOALIGN).ok()?;
    (stat.stx_mask & DIOALIGN.bits() != 0).then_some(u64::from(stat.stx_dio_offset_align))
}

/// The same for new files in a directory, tested with an `O_TMPFILE`.
pub(crate) fn alignment_in(directory: &Path) -> Option<u64> {
    let mut options = File::options();
    let file = options.read(true).write(true).custom_flags(libc::O_TMPFILE | libc::O_DIRECT).open(directory);
    match file {
        Ok(file) => alignment(&file),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Some(0),
        Err(_) => None,
    }
}
