//! A kernel text file that stays open and is read repeatedly.

use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::bytes::shown;
use crate::source_error::SourceError;

const FIRST_BUFFER_BYTES: usize = 512;
/// No file read here comes near this size.
const LARGEST_FILE_BYTES: usize = 8 << 20;

/// A file of procfs, sysfs, cgroupfs or debugfs. The descriptor stays open, as opening costs more than most reads.
pub(crate) struct TextFile {
    path: PathBuf,
    fd: Option<OwnedFd>,
    reopen: bool,
    buffer: Vec<u8>,
}

impl TextFile {
    /// Not opened until the first read.
    pub(crate) fn new(path: impl Into<PathBuf>) -> TextFile {
        TextFile { path: path.into(), fd: None, reopen: false, buffer: Vec::new() }
    }

    /// For files whose content the kernel takes at open, such as jbd2's.
    pub(crate) fn taken_at_open(path: impl Into<PathBuf>) -> TextFile {
        TextFile { reopen: true, ..TextFile::new(path) }
    }

    /// The content now. A file that was removed and created again (a cgroup, a mount) is reopened.
    pub(crate) fn read(&mut self) -> Result<&[u8], SourceError> {
        if self.reopen {
            self.fd = None;
        }
        let kept = self.fd.is_some();
        let len = match self.read_once() {
            // An empty result may come from an unlinked file; another open costs little.
            Err(_) | Ok(0) if kept => {
                self.fd = None;
                self.read_once()
            }
            result => result,
        };
        match len {
            Ok(len) => Ok(&self.buffer[..len]),
            Err(errno) => {
                self.fd = None;
                Err(SourceError::Read { path: self.path.clone(), errno })
            }
        }
    }

    /// The content now; empty if it cannot be read, which makes all of its metrics absent.
    pub(crate) fn read_or_empty(&mut self) -> (&[u8], Result<(), SourceError>) {
        match self.read() {
            Ok(text) => (text, Ok(())),
            Err(error) => (&[], Err(error)),
        }
    }

    /// Whether the kernel signals a change of the content since the last call. Only the mount tables do so; a
    /// file that was never read counts as changed.
    pub(crate) fn is_signalled(&self) -> bool {
        let Some(fd) = &self.fd else { return true };
        let mut fds = [PollFd::new(fd, PollFlags::PRI)];
        let at_once = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
        !matches!(rustix::event::poll(&mut fds, Some(&at_once)), Ok(0))
    }

    fn read_once(&mut self) -> Result<usize, Errno> {
        let fd = match &self.fd {
            Some(fd) => fd,
            None => self.fd.insert(rustix::fs::open(&self.path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?),
        };
        let mut len = 0;
        loop {
            if len == self.buffer.len() {
                if len >= LARGEST_FILE_BYTES {
                    return Err(Errno::FBIG);
                }
                self.buffer.resize((len * 2).max(FIRST_BUFFER_BYTES), 0);
            }
            match rustix::io::pread(fd, &mut self.buffer[len..], len as u64) {
                Ok(0) => return Ok(len),
                Ok(count) => len += count,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
    }
}

/// A small file read once, trimmed; `None` where it is missing, empty or unreadable.
pub(crate) fn read_trimmed(path: &Path) -> Option<String> {
    let text = std::fs::read(path).ok()?;
    let text = crate::bytes::trimmed(&text);
    (!text.is_empty()).then(|| shown(text))
}

#[cfg(test)]
mod tests {
    use super::TextFile;

    #[test]
    fn a_file_created_again_is_reopened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stat");
        std::fs::write(&path, "first").unwrap();
        let mut file = TextFile::new(&path);
        assert_eq!(file.read().unwrap(), b"first");
        std::fs::write(&path, "").unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(file.read().is_err());
        std::fs::write(&path, "second").unwrap();
        assert_eq!(file.read().unwrap(), b"second");
    }

    #[test]
    fn long_files_are_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long");
        let content = vec![b'x'; 70_000];
        std::fs::write(&path, &content).unwrap();
        assert_eq!(TextFile::new(&path).read().unwrap(), content);
    }
}
