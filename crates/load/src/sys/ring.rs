//! An io_uring with one registered file and a buffer per operation in flight.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use io_uring::types::{Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode};
use memmap2::MmapMut;

/// Operations of one thread on one file. Buffers belong to the kernel while their operation is in flight; dropping the
/// ring waits for all of them.
pub(crate) struct IoRing {
    ring: IoUring,
    memory: MmapMut,
    block_bytes: usize,
    /// Whether the buffers are registered, so that the kernel need not pin them each time.
    is_registered: bool,
    in_flight: Vec<bool>,
    count: usize,
}

/// A completed operation of the ring.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Completion {
    /// Its slot.
    pub(crate) slot: usize,
    /// Bytes moved, or the negative error number.
    pub(crate) result: i32,
}

impl IoRing {
    /// A ring for `depth` operations on blocks of `block_bytes`. For the calling thread only.
    pub(crate) fn new(file: &File, depth: usize, block_bytes: usize) -> io::Result<IoRing> {
        let entries = u32::try_from(depth).map_err(|_| io::ErrorKind::InvalidInput)?.next_power_of_two();
        // Without interrupts of the submitter, if the kernel supports it (6.1).
        let quiet = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(entries);
        let ring = quiet.or_else(|_| IoUring::new(entries))?;
        ring.submitter().register_files(&[file.as_raw_fd()])?;
        let mut memory = MmapMut::map_anon(depth.max(1) * block_bytes)?;
        memory.fill(1);
        let vectors: Vec<libc::iovec> = memory
            .chunks_exact_mut(block_bytes)
            .map(|block| libc::iovec { iov_base: block.as_mut_ptr().cast(), iov_len: block.len() })
            .collect();
        // SAFETY: the memory lives as long as the ring, and `Drop` waits for all operations on it.
        let is_registered = unsafe { ring.submitter().register_buffers(&vectors) }.is_ok();
        Ok(IoRing { ring, memory, block_bytes, is_registered, in_flight: vec![false; depth], count: 0 })
    }

    /// Operations in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.count
    }

    /// The buffer of an operation that is not in flight.
    pub(crate) fn buffer(&mut self, slot: usize) -> &mut [u8] {
        assert!(!self.in_flight[slot], "the buffer belongs to the kernel");
        &mut self.memory[slot * self.block_bytes..][..self.block_bytes]
    }

    /// Queues a read into an operation's buffer.
    pub(crate) fn read(&mut self, slot: usize, offset: u64) -> io::Result<()> {
        let (file, block, length) = (Fixed(0), self.buffer(slot).as_mut_ptr(), self.block_bytes as u32);
        let entry = match self.is_registered {
            true => opcode::ReadFixed::new(file, block, length, slot as u16).offset(offset).build(),
            false => opcode::Read::new(file, block, length).offset(offset).build(),
        };
        self.queue(slot, entry)
    }

    /// Queues a write of an operation's buffer.
    pub(crate) fn write(&mut self, slot: usize, offset: u64) -> io::Result<()> {
        let (file, block, length) = (Fixed(0), self.buffer(slot).as_ptr(), self.block_bytes as u32);
        let entry = match self.is_registered {
            true => opcode::WriteFixed::new(file, block, length, slot as u16).offset(offset).build(),
            false => opcode::Write::new(file, block, length).offset(offset).build(),
        };
        self.queue(slot, entry)
    }

    /// Queues an fsync, or an fdatasync.
    pub(crate) fn sync(&mut self, slot: usize, data_only: bool) -> io::Result<()> {
        let flags = if data_only { FsyncFlags::DATASYNC } else { FsyncFlags::empty() };
        self.queue(slot, opcode::Fsync::new(Fixed(0)).flags(flags).build())
    }

    /// Queues a sync_file_range of the whole file that waits for the data.
    pub(crate) fn sync_range(&mut self, slot: usize) -> io::Result<()> {
        self.queue(slot, opcode::SyncFileRange::new(Fixed(0), 0).flags(super::file::SYNC_RANGE_FLAGS).build())
    }

    fn queue(&mut self, slot: usize, entry: io_uring::squeue::Entry) -> io::Result<()> {
        assert!(!self.in_flight[slot], "each operation has a free slot");
        let entry = entry.user_data(slot as u64);
        // SAFETY: the buffer is this slot's alone until it completes (`in_flight`), and lives until then (`Drop`).
        while unsafe { self.ring.submission().push(&entry) }.is_err() {
            self.ring.submit()?;
        }
        self.in_flight[slot] = true;
        self.count += 1;
        Ok(())
    }

    /// Submits what is queued, and waits for a completion, at most for `timeout`.
    pub(crate) fn submit_and_wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        let result = match timeout {
            None => self.ring.submit_and_wait(1),
            Some(timeout) => {
                let timeout = Timespec::from(timeout);
                self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&timeout))
            }
        };
        match result {
            Err(error)
                if !matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY)) =>
            {
                Err(error)
            }
            _ => Ok(()),
        }
    }

    /// The next operation that has completed.
    pub(crate) fn next_completion(&mut self) -> Option<Completion> {
        let entry = self.ring.completion().next()?;
        let slot = entry.user_data() as usize;
        self.in_flight[slot] = false;
        self.count -= 1;
        Some(Completion { slot, result: entry.result() })
    }
}

impl Drop for IoRing {
    fn drop(&mut self) {
        while self.count > 0 {
            if self.submit_and_wait(None).is_err() {
                // The kernel may still write to the buffers: they must stay.
                std::mem::forget(std::mem::replace(&mut self.memory, MmapMut::map_anon(1).expect("a page can be had")));
                return;
            }
            while self.next_completion().is_some() {}
        }
    }
}
