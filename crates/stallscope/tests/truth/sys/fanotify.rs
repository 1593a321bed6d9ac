//! A fanotify listener that permits opens of a file, late.

use std::ffi::CString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::FromRawFd;
use std::time::Duration;

/// `struct fanotify_event_metadata`.
const EVENT_BYTES: usize = 24;
const FD_AT: usize = 16;

/// Answers until it is killed. `ready` comes once it listens.
pub fn listen(path: &str, late: Duration, ready: impl FnOnce()) -> ! {
    let name = CString::new(path).unwrap();
    // SAFETY: the arguments are valid; the descriptor is new and owned here.
    let mut group = unsafe {
        let fd = libc::fanotify_init(libc::FAN_CLASS_CONTENT | libc::FAN_CLOEXEC, libc::O_RDONLY as u32);
        assert!(fd >= 0, "fanotify_init");
        let marked = libc::fanotify_mark(fd, libc::FAN_MARK_ADD, libc::FAN_OPEN_PERM, libc::AT_FDCWD, name.as_ptr());
        assert_eq!(marked, 0, "fanotify_mark");
        File::from_raw_fd(fd)
    };
    ready();
    let mut events = [0; 16 * EVENT_BYTES];
    loop {
        let bytes = group.read(&mut events).unwrap();
        for event in events[..bytes].chunks_exact(EVENT_BYTES) {
            let fd = i32::from_ne_bytes(event[FD_AT..FD_AT + 4].try_into().unwrap());
            std::thread::sleep(late);
            let answer = [fd.to_ne_bytes(), libc::FAN_ALLOW.to_ne_bytes()].concat();
            group.write_all(&answer).unwrap();
            // SAFETY: the event's descriptor belongs to its reader.
            drop(unsafe { File::from_raw_fd(fd) });
        }
    }
}
