//! Engines that complete an operation before the call returns.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::SyncMethod;
use crate::sys;

/// Does one operation at a time.
pub(crate) trait BlockingEngine {
    /// Reads; returns the bytes read.
    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes; returns the bytes written.
    fn write(&self, buffer: &[u8], offset: u64) -> io::Result<usize>;
    /// Makes writes durable, as far as the method does.
    fn sync(&self, kind: SyncMethod) -> io::Result<()>;
}

/// System calls on a file.
pub(crate) struct SyncEngine(pub(crate) File);

impl BlockingEngine for SyncEngine {
    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        again(|| self.0.read_at(buffer, offset))
    }

    fn write(&self, buffer: &[u8], offset: u64) -> io::Result<usize> {
        again(|| self.0.write_at(buffer, offset))
    }

    fn sync(&self, kind: SyncMethod) -> io::Result<()> {
        match kind {
            SyncMethod::Fsync => self.0.sync_all(),
            SyncMethod::Fdatasync => self.0.sync_data(),
            SyncMethod::SyncFileRange => sys::sync_file_range(&self.0, 0, 0),
            SyncMethod::OSync | SyncMethod::ODsync => Ok(()),
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
pub(crate) struct NullEngine;

impl BlockingEngine for NullEngine {
    fn read(&self, buffer: &mut [u8], _: u64) -> io::Result<usize> {
        Ok(buffer.len())
    }

    fn write(&self, buffer: &[u8], _: u64) -> io::Result<usize> {
        Ok(buffer.len())
    }

    fn sync(&self, _: SyncMethod) -> io::Result<()> {
        Ok(())
    }
}
