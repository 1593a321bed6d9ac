//! A semaphore of System V.

use std::io;

/// One that is free, and removed when dropped.
pub struct Semaphore(i32);

impl Semaphore {
    pub fn new() -> Semaphore {
        // SAFETY: a call without pointers.
        let set = unsafe { libc::semget(libc::IPC_PRIVATE, 1, 0o600) };
        assert!(set >= 0, "semget: {}", io::Error::last_os_error());
        let semaphore = Semaphore(set);
        Semaphore::change(set, 1);
        semaphore
    }

    /// By which other processes know it.
    pub fn set(&self) -> i32 {
        self.0
    }

    /// Takes it (-1) or gives it back (1).
    pub fn change(set: i32, by: i16) {
        let mut change = libc::sembuf { sem_num: 0, sem_op: by, sem_flg: 0 };
        // SAFETY: the structure lives as long as the call.
        let result = unsafe { libc::semop(set, &raw mut change, 1) };
        assert_eq!(result, 0, "semop: {}", io::Error::last_os_error());
    }
}

impl Drop for Semaphore {
    fn drop(&mut self) {
        // SAFETY: a call without pointers.
        unsafe { libc::semctl(self.0, 0, libc::IPC_RMID) };
    }
}
