//! A message queue of System V.

use std::io;

/// Two of them fill a queue (`kernel.msgmnb` is at least 16 KiB).
const MESSAGE_BYTES: usize = 8 << 10;

#[repr(C)]
struct Message {
    kind: libc::c_long,
    text: [u8; MESSAGE_BYTES],
}

/// One that is full, and removed when dropped.
pub struct Queue(i32);

impl Queue {
    pub fn full() -> Queue {
        // SAFETY: a call without pointers.
        let id = unsafe { libc::msgget(libc::IPC_PRIVATE, 0o600) };
        assert!(id >= 0, "msgget: {}", io::Error::last_os_error());
        while Queue::put(id, libc::IPC_NOWAIT) {}
        Queue(id)
    }

    /// By which other processes know it.
    pub fn id(&self) -> i32 {
        self.0
    }

    /// Waits until there is room for a message.
    pub fn send(id: i32) {
        assert!(Queue::put(id, 0), "msgsnd: {}", io::Error::last_os_error());
    }

    /// Waits for a message.
    pub fn receive(id: i32) {
        let mut message = Message { kind: 0, text: [0; MESSAGE_BYTES] };
        // SAFETY: the structure lives as long as the call, and has room for so much text.
        let got = unsafe { libc::msgrcv(id, (&raw mut message).cast(), MESSAGE_BYTES, 0, 0) };
        assert!(got >= 0, "msgrcv: {}", io::Error::last_os_error());
    }

    fn put(id: i32, flags: i32) -> bool {
        let message = Message { kind: 1, text: [0; MESSAGE_BYTES] };
        // SAFETY: the structure lives as long as the call, and has so much text.
        unsafe { libc::msgsnd(id, (&raw const message).cast(), MESSAGE_BYTES, flags) == 0 }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: a call without pointers.
        unsafe { libc::msgctl(self.0, libc::IPC_RMID, std::ptr::null_mut()) };
    }
}
