//! Locks of user space, between processes.

use std::fs::File;
use std::io::{Read, Seek};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::fs::FlockOperation;
use rustix::thread::futex;

use crate::sys::{self, Semaphore};

/// As SQLite sleeps before it tries again.
const BETWEEN_TRIES: Duration = Duration::from_millis(25);

/// Waits for the lock of that kind.
pub fn take(how: &str, file: &File) {
    match how {
        "flock" => rustix::fs::flock(file, FlockOperation::LockExclusive).unwrap(),
        "posix" => rustix::fs::fcntl_lock(file, FlockOperation::LockExclusive).unwrap(),
        "description" => sys::lock_description(file, true),
        "lease" => sys::lease(file, true),
        "futex" => lock(sys::shared_word(file)),
        "semaphore" => Semaphore::change(set_in(file), -1),
        "tries" => {
            while !is_taken(file) {
                std::thread::sleep(BETWEEN_TRIES)
            }
        }
        how => panic!("no such lock: {how}"),
    }
}

pub fn release(how: &str, file: &File) {
    match how {
        "flock" => rustix::fs::flock(file, FlockOperation::Unlock).unwrap(),
        "posix" => rustix::fs::fcntl_lock(file, FlockOperation::Unlock).unwrap(),
        "description" => sys::lock_description(file, false),
        "lease" => sys::lease(file, false),
        "futex" => unlock(sys::shared_word(file)),
        "semaphore" => Semaphore::change(set_in(file), 1),
        "tries" => rustix::fs::fcntl_lock(file, FlockOperation::Unlock).unwrap(),
        how => panic!("no such lock: {how}"),
    }
}

/// Whether the lock of the file was free.
pub fn is_taken(file: &File) -> bool {
    rustix::fs::fcntl_lock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// The file holds the number of a set of semaphores.
fn set_in(file: &File) -> i32 {
    let mut text = String::new();
    { file }.rewind().unwrap();
    { file }.read_to_string(&mut text).unwrap();
    text.parse().unwrap()
}

/// As a mutex of the C library in shared memory: 0 free, 1 taken, 2 awaited.
fn lock(word: &AtomicU32) {
    let mut found = word.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed);
    while found.is_err() {
        if word.swap(2, Ordering::Acquire) == 0 {
            return;
        }
        let _ = futex::wait(word, futex::Flags::empty(), 2, None);
        found = word.compare_exchange(0, 2, Ordering::Acquire, Ordering::Relaxed);
    }
}

fn unlock(word: &AtomicU32) {
    if word.swap(0, Ordering::Release) == 2 {
        futex::wake(word, futex::Flags::empty(), 1).unwrap();
    }
}
