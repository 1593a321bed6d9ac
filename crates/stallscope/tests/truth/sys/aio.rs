//! One operation at a time of libaio, by its system calls.

use std::fs::File;
use std::os::fd::AsRawFd;

/// `struct iocb` of <linux/aio_abi.h>, little-endian.
#[repr(C)]
#[derive(Default)]
struct Iocb {
    data: u64,
    key: u32,
    flags: u32,
    code: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    more_flags: u32,
    event_fd: u32,
}

#[repr(C)]
#[derive(Default)]
struct Event {
    data: u64,
    iocb: u64,
    result: i64,
    other: i64,
}

pub struct Aio {
    context: libc::c_ulong,
}

impl Aio {
    pub fn new() -> Aio {
        let mut context: libc::c_ulong = 0;
        // SAFETY: the kernel writes one word.
        let made = unsafe { libc::syscall(libc::SYS_io_setup, 8, &raw mut context) };
        assert_eq!(made, 0, "io_setup");
        Aio { context }
    }

    /// `read`, `write` or `fsync`: its result.
    pub fn run(&mut self, what: &str, file: &File, memory: &mut [u8], offset: u64) -> i64 {
        let code = ["read", "write", "fsync"].iter().position(|known| *known == what).expect("an operation") as u16;
        let (fd, buffer) = (file.as_raw_fd() as u32, memory.as_mut_ptr() as u64);
        let range = if what == "fsync" { (0, 0, 0) } else { (buffer, memory.len() as u64, offset as i64) };
        let iocb = Iocb { code, fd, buffer: range.0, bytes: range.1, offset: range.2, ..Iocb::default() };
        let list = [&raw const iocb];
        // SAFETY: iocb and memory live until the operation is complete: this waits for it.
        let submitted = unsafe { libc::syscall(libc::SYS_io_submit, self.context, 1, list.as_ptr()) };
        assert_eq!(submitted, 1, "io_submit");
        let (count, event) = self.reap(1, None);
        assert_eq!(count, 1, "io_getevents");
        event.result
    }

    /// Waits with nothing in flight.
    pub fn idle(&mut self, ms: i64) {
        let time = libc::timespec { tv_sec: ms / 1000, tv_nsec: ms % 1000 * 1_000_000 };
        assert_eq!(self.reap(1, Some(&time)).0, 0);
    }

    fn reap(&mut self, least: i64, time: Option<&libc::timespec>) -> (i64, Event) {
        let mut event = Event::default();
        let time = time.map_or(std::ptr::null(), std::ptr::from_ref);
        let place = &raw mut event;
        // SAFETY: the kernel writes at most one event.
        let count = unsafe { libc::syscall(libc::SYS_io_getevents, self.context, least, 1, place, time) };
        (count, event)
    }
}
