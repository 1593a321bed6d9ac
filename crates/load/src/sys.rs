//! All unsafe code of this crate: shared memory, inherited descriptors, signal dispositions.
#![allow(unsafe_code)]

mod file;
mod ring;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicU32, AtomicU64};

pub(crate) use file::{close, sync_file_range};
use memmap2::{MmapOptions, MmapRaw};
pub(crate) use ring::IoRing;
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::FdFlags;

/// Zeroed memory that two processes map. The first `words_bytes` are 64-bit words, the rest 32-bit words: no byte is
/// accessed in two sizes.
pub(crate) struct SharedMemory {
    map: MmapRaw,
    words_bytes: usize,
}

impl SharedMemory {
    /// Creates the memory and a descriptor to inherit. The program populates every page: the load must not have to
    /// allocate memory, under its memory pressure, to count an operation.
    pub(crate) fn create(words_bytes: usize, total_bytes: usize) -> io::Result<(OwnedFd, SharedMemory)> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let descriptor = rustix::fs::memfd_create("stallscope-board", flags)?;
        rustix::fs::ftruncate(&descriptor, total_bytes as u64)?;
        rustix::fs::fcntl_add_seals(&descriptor, SealFlags::SHRINK | SealFlags::GROW)?;
        let memory = SharedMemory::map(descriptor.as_fd(), words_bytes, total_bytes)?;
        Ok((descriptor, memory))
    }

    /// Maps memory that the other process created; its size must be `total_bytes`.
    pub(crate) fn attach(
        descriptor: BorrowedFd<'_>,
        words_bytes: usize,
        total_bytes: usize,
    ) -> io::Result<SharedMemory> {
        if rustix::fs::fstat(descriptor)?.st_size as u64 != total_bytes as u64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the size of the board does not match its plan"));
        }
        SharedMemory::map(descriptor, words_bytes, total_bytes)
    }

    /// Maps a whole file. `is_new`: it is empty; set its size and allocate its blocks first.
    pub(crate) fn in_file(
        file: &File,
        words_bytes: usize,
        total_bytes: usize,
        is_new: bool,
    ) -> io::Result<SharedMemory> {
        if is_new {
            rustix::fs::ftruncate(file, total_bytes as u64)?;
            // A store to a block that cannot be allocated would kill the process.
            match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, total_bytes as u64) {
                Err(rustix::io::Errno::OPNOTSUPP) | Ok(()) => {}
                Err(error) => return Err(error.into()),
            }
        }
        SharedMemory::map(file.as_fd(), words_bytes, total_bytes)
    }

    fn map(descriptor: BorrowedFd<'_>, words_bytes: usize, total_bytes: usize) -> io::Result<SharedMemory> {
        assert!(words_bytes.is_multiple_of(8) && words_bytes <= total_bytes && total_bytes.is_multiple_of(4));
        let map = MmapOptions::new().len(total_bytes).populate().map_raw(descriptor.as_raw_fd())?;
        Ok(SharedMemory { map, words_bytes })
    }

    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is page-aligned, at least `words_bytes` long and lives as long as `self`; the seals keep
        // the file from shrinking, and no code truncates a ledger in use. Atomics may be shared with another process,
        // and every bit pattern is valid.
        unsafe { std::slice::from_raw_parts(self.map.as_ptr().cast::<AtomicU64>(), self.words_bytes / 8) }
    }

    pub(crate) fn halves(&self) -> &[AtomicU32] {
        let length = (self.map.len() - self.words_bytes) / 4;
        // SAFETY: as in `words`; the range starts where that of `words` ends and is aligned to 8.
        unsafe { std::slice::from_raw_parts(self.map.as_ptr().add(self.words_bytes).cast::<AtomicU32>(), length) }
    }
}

/// Lets a command inherit a descriptor under the same number, although it is close-on-exec in this process. The
/// descriptor must stay open until the command has started.
pub(crate) fn inherit(command: &mut Command, descriptor: RawFd) {
    let keep_open = move || {
        // SAFETY: the descriptor is open until the command has been started, as the caller promises.
        let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
        rustix::io::fcntl_setfd(descriptor, FdFlags::empty()).map_err(io::Error::from)
    };
    // SAFETY: the closure makes one system call, allocates nothing and takes no lock.
    unsafe { command.pre_exec(keep_open) };
}

/// Takes over an inherited descriptor, after checking that it is open.
pub(crate) fn inherited(descriptor: RawFd) -> io::Result<OwnedFd> {
    if descriptor < 3 {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    // SAFETY: used only for a call that checks whether the descriptor is open.
    rustix::io::fcntl_getfd(unsafe { BorrowedFd::borrow_raw(descriptor) })?;
    // SAFETY: it is open, and was inherited for this purpose only.
    let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
    rustix::io::fcntl_setfd(&descriptor, FdFlags::CLOEXEC)?;
    Ok(descriptor)
}

/// Ignores termination signals: the program decides when the load ends.
pub(crate) fn ignore_termination_signals() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: SIG_IGN installs no handler, so no code can run at a bad moment.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Runs `body` in a new process, which ends when `body` returns or panics.
///
/// The new process has only this thread. `body` may allocate, because glibc keeps its allocator usable in a forked
/// child, and must not wait for a lock that another thread of this process may have held.
pub(crate) fn fork(body: impl FnOnce()) -> io::Result<rustix::process::Pid> {
    // SAFETY: the child runs only `body`, on the terms above, and ends without running destructors of this process.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
            // SAFETY: ends the process at once.
            unsafe { libc::_exit(i32::from(ended.is_err())) }
        }
        child => Ok(rustix::process::Pid::from_raw(child).expect("a child's id is positive")),
    }
}
