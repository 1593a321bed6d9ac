//! Message queues of both kinds, each of which is removed when dropped.

use std::ffi::CString;
use std::io;

/// One message at a time.
pub(crate) trait Queue: Send + Sync {
    fn send(&self);
    fn receive(&self);
}

#[repr(C)]
struct Message {
    kind: libc::c_long,
    text: [u8; 8],
}

struct SystemV(i32);

pub(crate) fn system_v() -> Box<dyn Queue> {
    // SAFETY: a call without pointers.
    let id = unsafe { libc::msgget(libc::IPC_PRIVATE, 0o600) };
    assert!(id >= 0, "msgget: {}", io::Error::last_os_error());
    Box::new(SystemV(id))
}

impl Queue for SystemV {
    fn send(&self) {
        let message = Message { kind: 1, text: [0; 8] };
        // SAFETY: the structure lives as long as the call, and has so much text.
        let sent = unsafe { libc::msgsnd(self.0, (&raw const message).cast(), 8, 0) };
        assert_eq!(sent, 0, "msgsnd: {}", io::Error::last_os_error());
    }

    fn receive(&self) {
        let mut message = Message { kind: 0, text: [0; 8] };
        // SAFETY: the structure lives as long as the call, and has room for so much text.
        let got = unsafe { libc::msgrcv(self.0, (&raw mut message).cast(), 8, 0, 0) };
        assert!(got >= 0, "msgrcv: {}", io::Error::last_os_error());
    }
}

impl Drop for SystemV {
    fn drop(&mut self) {
        // SAFETY: a call without pointers.
        unsafe { libc::msgctl(self.0, libc::IPC_RMID, std::ptr::null_mut()) };
    }
}

struct Posix(i32);

/// Its name is gone at once; the descriptor keeps it.
pub(crate) fn posix() -> Box<dyn Queue> {
    let name = CString::new(format!("/stallscope-test-{}", std::process::id())).expect("no NUL in it");
    // SAFETY: the name lives as long as the calls; attributes are those of the system.
    let queue = unsafe {
        let queue = libc::mq_open(
            name.as_ptr(),
            libc::O_CREAT | libc::O_EXCL | libc::O_RDWR,
            0o600,
            std::ptr::null::<libc::mq_attr>(),
        );
        libc::mq_unlink(name.as_ptr());
        queue
    };
    assert!(queue >= 0, "mq_open: {}", io::Error::last_os_error());
    Box::new(Posix(queue))
}

impl Queue for Posix {
    fn send(&self) {
        // SAFETY: the text lives as long as the call.
        let sent = unsafe { libc::mq_send(self.0, [0].as_ptr(), 1, 0) };
        assert_eq!(sent, 0, "mq_send: {}", io::Error::last_os_error());
    }

    fn receive(&self) {
        let mut text = vec![0; 1 << 16];
        // SAFETY: the buffer lives as long as the call, and has so many bytes.
        let got = unsafe { libc::mq_receive(self.0, text.as_mut_ptr(), text.len(), std::ptr::null_mut()) };
        assert!(got >= 0, "mq_receive: {}", io::Error::last_os_error());
    }
}

impl Drop for Posix {
    fn drop(&mut self) {
        // SAFETY: a call without pointers.
        unsafe { libc::mq_close(self.0) };
    }
}
