//! Engines that have done an operation when the call returns.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::SyncKind;
use crate::sys;

/// Does operations one after the other.
pub(crate) trait Blocking {
    /// Reads; how many bytes were read.
    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes; how many bytes were written.
    fn write(&self, buffer: &[u8], offset: u64) -> io::Result<usize>;
    /// Makes what was written durable, as far as the kind goes.
    fn sync(&self, kind: SyncKind) -> io::Result<()>;
}

/// System calls on a file.
pub(crate) struct Calls(pub(crate) File);

impl Blocking for Calls {
    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        again(|| self.0.read_at(buffer, offset))
    }

    fn write(&self, buffer: &[u8], offset: u64) -> io::Result<usize> {
        again(|| self.0.write_at(buffer, offset))
    }

    fn sync(&self, kind: SyncKind) -> io::Result<()> {
        match kind {
            SyncKind::Fsync => self.0.sync_all(),
            SyncKind::Fdatasync => self.0.sync_data(),
            SyncKind::SyncFileRange => sys::sync_file_range(&self.0, 0, 0),
            SyncKind::OSync | SyncKind::ODsync => Ok(()),
        }
    }
}

fn again(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Does nothing.
pub(crate) struct Nothing;

impl Blocking for Nothing {
    fn read(&self, buffer: &mut [u8], _: u64) -> io::Result<usize> {
        Ok(buffer.len())
    }

    fn write(&self, buffer: &[u8], _: u64) -> io::Result<usize> {
        Ok(buffer.len())
    }

    fn sync(&self, _: SyncKind) -> io::Result<()> {
        Ok(())
    }
}
