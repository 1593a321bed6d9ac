//! Semaphores of System V: the kernel notes the process that changed one last (semctl(2), `GETPID`). Of one that is
//! taken, that process took it.

use std::path::Path;

use crate::sys::{SemaphoreState, semaphore_state};

/// A semaphore of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Semaphore {
    pub(super) set: i32,
    pub(super) number: u16,
}

impl Semaphore {
    /// From the first `struct sembuf` of a call, if that takes it: its number and its change in one word.
    pub(super) fn taken_by_call(set: i32, [word]: [u32; 1]) -> Option<Semaphore> {
        let [low, high] = [word & 0xffff, word >> 16].map(|half| u16::try_from(half).unwrap_or_default());
        (high.cast_signed() < 0).then_some(Semaphore { set, number: low })
    }

    /// The process that has taken it; `None` where it is free, is of another namespace, or `waiter` itself changed it
    /// last.
    pub(super) fn holder(self, proc: &Path, waiter: u32) -> Option<u32> {
        let namespace = |process: String| std::fs::read_link(proc.join(process).join("ns/ipc")).ok();
        let is_own = namespace("self".into()).is_some_and(|own| namespace(waiter.to_string()) == Some(own));
        let SemaphoreState { value, pid } = is_own.then(|| semaphore_state(self.set, self.number))??;
        (value == 0 && pid != waiter && proc.join(pid.to_string()).exists()).then_some(pid)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Semaphore;
    use crate::sys::SemaphoreSet;

    #[test]
    fn a_call_that_takes_one_names_it() {
        let of = |number: u16, change: i16| {
            let word = u32::from(number) | u32::from(change.cast_unsigned()) << 16;
            Semaphore::taken_by_call(7, [word])
        };
        assert_eq!(of(3, -1), Some(Semaphore { set: 7, number: 3 }));
        assert_eq!((of(3, 1), of(3, 0)), (None, None));
    }

    #[test]
    fn the_process_that_changed_one_last_has_it_while_it_is_taken() {
        let set = SemaphoreSet::new();
        let semaphore = Semaphore { set: set.0, number: 0 };
        let (proc, own, parent) = (Path::new("/proc"), std::process::id(), std::os::unix::process::parent_id());
        set.change(1);
        let free = semaphore.holder(proc, parent);
        set.change(-1);
        let taken = [semaphore.holder(proc, parent), semaphore.holder(proc, own)];
        let missing = Semaphore { number: 5, ..semaphore }.holder(proc, parent);
        drop(set);
        assert_eq!((free, taken, missing), (None, [Some(own), None], None));
        assert_eq!(semaphore.holder(proc, parent), None, "removed");
    }
}
