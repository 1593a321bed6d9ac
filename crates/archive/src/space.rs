//! Disk space: the reserve and the size limit.
//!
//! The reserve is real blocks, allocated at the start. On a full disk, a fifth of it is freed each time that tables are
//! given up, at most four times, and the rest at the close. This lets a run on a full disk end with a readable archive.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::directory::RESERVE_FILE;
use crate::disk;
use crate::error::ArchiveError;
use crate::options::WriterOptions;

/// Space that a run needs besides its reserve: its first consolidation with a margin.
const LEAST_BYTES: u64 = 256 << 10;

/// The reserve is freed in this many parts: one for each [`Priority`](crate::table::Priority), and one for the close.
const PARTS: u64 = 5;

/// Space used, reserved and allowed.
#[derive(Debug)]
pub(crate) struct Space {
    path: PathBuf,
    reserve: Option<File>,
    reserve_bytes: u64,
    part_bytes: u64,
    limit_bytes: Option<u64>,
    used_bytes: u64,
    written_bytes: u64,
}

impl Space {
    /// Checks that a run can begin in `dir` and allocates the reserve.
    pub(crate) fn reserve(dir: &Path, options: &WriterOptions) -> Result<Space, ArchiveError> {
        let reserve_bytes = match options.size_limit_bytes {
            Some(limit_bytes) if limit_bytes < LEAST_BYTES => {
                return Err(ArchiveError::LimitTooSmall { limit_bytes, least_bytes: LEAST_BYTES });
            }
            Some(limit_bytes) => options.reserve_bytes.min(limit_bytes / 4),
            None => options.reserve_bytes,
        };
        let needed_bytes = reserve_bytes + LEAST_BYTES;
        let free_bytes = free_bytes(dir).map_err(ArchiveError::io(dir, "query its free space"))?;
        if free_bytes < needed_bytes {
            return Err(ArchiveError::NoSpace { path: dir.to_owned(), free_bytes, needed_bytes });
        }
        let path = dir.join(RESERVE_FILE);
        let file = disk::create(&path).map_err(ArchiveError::io(&path, "create"))?;
        disk::allocate(&file, reserve_bytes).map_err(ArchiveError::io(&path, "reserve space"))?;
        Ok(Space {
            path,
            reserve: Some(file),
            reserve_bytes,
            part_bytes: reserve_bytes.div_ceil(PARTS),
            limit_bytes: options.size_limit_bytes,
            used_bytes: 0,
            written_bytes: 0,
        })
    }

    /// Refuses a write beyond the size limit.
    pub(crate) fn admit(&self, bytes: u64) -> io::Result<()> {
        match self.limit_bytes {
            Some(limit) if self.used_bytes + self.reserve_bytes + bytes > limit => {
                Err(io::Error::new(io::ErrorKind::QuotaExceeded, format!("size limit: {limit} bytes are used up")))
            }
            _ => Ok(()),
        }
    }

    /// Counts a write.
    pub(crate) fn wrote(&mut self, bytes: u64) {
        self.used_bytes += bytes;
        self.written_bytes += bytes;
    }

    /// Counts deleted bytes.
    pub(crate) fn gave_back(&mut self, bytes: u64) {
        self.used_bytes = self.used_bytes.saturating_sub(bytes);
    }

    /// Frees a part of the reserve; `false` if none was left.
    pub(crate) fn release_part(&mut self) -> bool {
        self.shrink(self.reserve_bytes.saturating_sub(self.part_bytes))
    }

    /// Frees all of the reserve and removes its file.
    pub(crate) fn release_all(&mut self) {
        self.shrink(0);
        if self.reserve.take().is_some() {
            let _ = disk::remove(&self.path);
        }
    }

    /// Size of the directory's files, without the reserve.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    /// Bytes written, deleted files included.
    pub(crate) fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    fn shrink(&mut self, to_bytes: u64) -> bool {
        let Some(file) = self.reserve.as_ref().filter(|_| to_bytes < self.reserve_bytes) else { return false };
        // ext4 reuses freed blocks only after the transaction commits, hence the syncs.
        let freed = disk::set_length(file, to_bytes).and_then(|()| disk::sync_all(file)).is_ok();
        if let Some(dir) = self.path.parent() {
            let _ = disk::sync_directory(dir);
        }
        self.reserve_bytes = to_bytes;
        freed
    }
}

/// Whether the error means lack of space rather than a broken disk.
pub(crate) fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

fn free_bytes(dir: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(dir)?;
    Ok(stat.f_bavail * stat.f_frsize)
}
