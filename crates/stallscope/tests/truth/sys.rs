//! Unsafe code: memory that maps a file, asynchronous I/O, fanotify, locks of files, futexes, semaphores, message
//! queues.

mod aio;
mod fanotify;
mod queue;
mod ring;
mod semaphore;

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::AtomicU32;

pub use aio::Aio;
pub use fanotify::listen;
pub use queue::Queue;
pub use ring::Ring;
pub use semaphore::Semaphore;

/// The whole file, mapped, without readahead.
pub fn map(file: &File) -> memmap2::Mmap {
    // SAFETY: the file is on a disk of this test alone; nothing writes or truncates it.
    let map = unsafe { memmap2::Mmap::map(file) }.unwrap();
    map.advise(memmap2::Advice::Random).unwrap();
    map
}

/// Of a listening socket: at most one connection may wait to be accepted.
pub fn let_one_wait(socket: &impl AsRawFd) {
    // SAFETY: a call without pointers.
    let result = unsafe { libc::listen(socket.as_raw_fd(), 0) };
    assert_eq!(result, 0, "listen");
}

/// Submits all dirty pages of a file.
pub fn write_out(file: &File) {
    // SAFETY: a call without pointers.
    let result = unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
    assert_eq!(result, 0, "sync_file_range");
}

/// The whole file, mapped, shared with the page cache.
pub fn map_shared(file: &File) -> memmap2::MmapMut {
    // SAFETY: the file is on a disk of this test alone; nothing writes or truncates it.
    unsafe { memmap2::MmapMut::map_mut(file) }.unwrap()
}

/// Writes the file's dirty pages, and waits for them.
pub fn sync_file_range(file: &File) -> io::Result<()> {
    let how = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: it touches no memory of this process.
    match unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, how) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// `struct flock` on 64-bit machines.
#[repr(C)]
struct Lock {
    kind: i16,
    whence: i16,
    start: i64,
    length: i64,
    pid: i32,
}

const WRITE_LOCK: i16 = 1;
const UNLOCK: i16 = 2;

unsafe extern "C" {
    fn fcntl(fd: i32, command: i32, ...) -> i32;
}

/// `F_OFD_SETLKW` for the whole file.
pub fn lock_description(file: &File, locks: bool) {
    const SET_AND_WAIT: i32 = 38;
    let kind = if locks { WRITE_LOCK } else { UNLOCK };
    let lock = Lock { kind, whence: 0, start: 0, length: 0, pid: 0 };
    // SAFETY: the command takes a pointer to such a structure, and only reads it.
    let result = unsafe { fcntl(file.as_raw_fd(), SET_AND_WAIT, &raw const lock) };
    assert_eq!(result, 0, "fcntl: {}", std::io::Error::last_os_error());
}

/// `F_SETLEASE`: a write lease, or none.
pub fn lease(file: &File, takes: bool) {
    const SET_LEASE: i32 = 1024;
    const SET_SIGNAL: i32 = 10;
    // SIGURG: the usual signal for a lease that others want would end the process.
    // SAFETY: the command takes a number.
    let result = unsafe { fcntl(file.as_raw_fd(), SET_SIGNAL, 23) };
    assert_eq!(result, 0, "fcntl: {}", std::io::Error::last_os_error());
    let kind = i32::from(if takes { WRITE_LOCK } else { UNLOCK });
    // SAFETY: the command takes a number.
    let result = unsafe { fcntl(file.as_raw_fd(), SET_LEASE, kind) };
    assert_eq!(result, 0, "fcntl: {}", std::io::Error::last_os_error());
}

/// The first word of the file, mapped into the memory of every process that calls this.
pub fn shared_word(file: &File) -> &'static AtomicU32 {
    // SAFETY: the file is one of this test alone, and never truncated.
    let map = unsafe { memmap2::MmapMut::map_mut(file) }.unwrap();
    let word = Box::leak(Box::new(map)).as_mut_ptr().cast();
    // SAFETY: the map is leaked, aligned to a page, and used only through this type.
    unsafe { AtomicU32::from_ptr(word) }
}
