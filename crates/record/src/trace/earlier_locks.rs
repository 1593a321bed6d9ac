//! Locks of files that tasks already waited for when the recording began: no tracepoint announced those waits.
//! /proc/locks has the processes that hold a lock or wait for it.

use std::collections::HashMap;
use std::path::Path;

use model::system_call::{traits, traits_of};

use crate::bytes::read_text;

/// Who held the lock that a process waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EarlierLock {
    pub(super) holder: u32,
    /// Stands for the address of the lock: that of a file is beyond any inode's number.
    pub(super) inode: u64,
}

/// By waiting process. Of one that waited for several locks none is known.
#[derive(Debug, Default)]
pub(super) struct EarlierLocks(HashMap<u32, Option<EarlierLock>>);

impl EarlierLocks {
    pub(super) fn read(proc: &Path) -> EarlierLocks {
        EarlierLocks::parse(&read_text(proc.join("locks")).unwrap_or_default())
    }

    /// `1: POSIX ADVISORY WRITE 812 07:01:14 0 EOF` is held, and `1: -> POSIX ADVISORY WRITE 813 07:01:14 0 EOF` waits
    /// for it, or for another one that does.
    fn parse(text: &str) -> EarlierLocks {
        let mut locks = EarlierLocks::default();
        let mut held = None;
        for line in text.lines() {
            let Some((number, rest)) = line.split_once(':') else { continue };
            let waits = rest.trim_start().starts_with("->");
            let Some((pid, inode)) = process_and_inode(rest.trim_start().trim_start_matches("->")) else { continue };
            if !waits {
                held = Some((number, EarlierLock { holder: pid, inode }));
            } else if let Some((_, lock)) = held.filter(|(held, _)| *held == number) {
                let known = locks.0.entry(pid).or_insert(Some(lock));
                *known = known.filter(|known| *known == lock);
            }
        }
        // The lock of an open file has no process.
        locks.0.retain(|_, lock| lock.is_some_and(|lock| lock.holder != 0));
        locks
    }

    /// The lock that a process waited for in a call of that name.
    pub(super) fn of(&self, pid: u32, call: Option<&str>) -> Option<EarlierLock> {
        call.filter(|call| traits_of(call).has(traits::LOCKS_FILE | traits::MEETS_LEASE))
            .and_then(|_| *self.0.get(&pid)?)
    }
}

/// `POSIX  ADVISORY  WRITE 812 07:01:14 0 EOF`; 0 for a process that is not known.
fn process_and_inode(words: &str) -> Option<(u32, u64)> {
    let mut words = words.split_whitespace().skip(3);
    let pid: i64 = words.next()?.parse().ok()?;
    let inode = words.next()?.rsplit_once(':')?.1.parse().ok()?;
    Some((u32::try_from(pid).unwrap_or(0), inode))
}

#[cfg(test)]
mod tests {
    use super::{EarlierLock, EarlierLocks};

    const LOCKS: &str = "\
1: POSIX  ADVISORY  WRITE 812 07:01:14 0 EOF
1: -> POSIX  ADVISORY  WRITE 813 07:01:14 0 EOF
1:  -> POSIX  ADVISORY  READ  814 07:01:14 0 EOF
2: LEASE  BREAKING  READ  900 07:01:15 0 EOF
2: -> LEASE  BREAKING  WRITE 901 07:01:15 0 EOF
3: OFDLCK ADVISORY  WRITE -1 07:01:16 0 EOF
3: -> POSIX  ADVISORY  WRITE 902 07:01:16 0 EOF
4: FLOCK  ADVISORY  WRITE 812 07:01:17 0 EOF
4: -> FLOCK  ADVISORY  WRITE 814 07:01:17 0 EOF
";

    #[test]
    fn each_waiting_process_has_the_holder_of_its_lock() {
        let locks = EarlierLocks::parse(LOCKS);
        let lock = |holder, inode| Some(EarlierLock { holder, inode });
        assert_eq!(locks.of(813, Some("fcntl")), lock(812, 14));
        assert_eq!(locks.of(901, Some("openat")), lock(900, 15));
        // One of a program that waits for something else, two of one process, one of an open file, and that of a
        // holder.
        assert_eq!(
            [(813, "read"), (814, "flock"), (902, "fcntl"), (812, "fcntl")]
                .map(|(pid, call)| locks.of(pid, Some(call))),
            [None; 4]
        );
        assert_eq!(EarlierLocks::parse("damaged: line\n1: x").of(1, None), None);
    }
}
