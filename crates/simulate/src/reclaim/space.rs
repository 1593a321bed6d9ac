//! mmap_sem of the address space that all threads of the program share.

use std::collections::VecDeque;

/// A FIFO reader-writer lock: a waiting writer blocks later readers.
#[derive(Debug, Default)]
pub(super) struct AddressSpace {
    /// The readers that hold it, in no order.
    readers: Vec<u32>,
    writer: Option<u32>,
    queue: VecDeque<(u32, bool)>,
}

impl AddressSpace {
    /// Takes the lock. `false`: the task is queued.
    pub(super) fn take(&mut self, tid: u32, write: bool) -> bool {
        let free = self.writer.is_none() && self.queue.is_empty() && (!write || self.readers.is_empty());
        if free {
            self.give(tid, write);
        } else {
            self.queue.push_back((tid, write));
        }
        free
    }

    /// Releases the lock, and adds the tasks that get it now to `next`.
    pub(super) fn release(&mut self, tid: u32, next: &mut Vec<u32>) {
        if self.writer == Some(tid) {
            self.writer = None;
        } else if let Some(at) = self.readers.iter().position(|reader| *reader == tid) {
            self.readers.swap_remove(at);
        }
        while let Some(&(first, write)) = self.queue.front() {
            if self.writer.is_some() || (write && !self.readers.is_empty()) {
                break;
            }
            self.queue.pop_front();
            self.give(first, write);
            next.push(first);
        }
    }

    /// The tasks that hold it.
    pub(super) fn holders(&self) -> impl Iterator<Item = u32> {
        self.readers.iter().copied().chain(self.writer)
    }

    fn give(&mut self, tid: u32, write: bool) {
        if write {
            self.writer = Some(tid);
        } else {
            self.readers.push(tid);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::AddressSpace;

    #[test]
    fn a_waiting_writer_blocks_later_readers() {
        let mut space = AddressSpace::default();
        assert!(space.take(1, false));
        assert!(space.take(2, false));
        assert!(!space.take(3, true));
        assert!(!space.take(4, false), "it came after the writer");
        let mut next = Vec::new();
        space.release(1, &mut next);
        assert!(next.is_empty());
        space.release(2, &mut next);
        assert_eq!(next, [3]);
        space.release(3, &mut next);
        assert_eq!(next, [3, 4]);
    }

    proptest! {
        #[test]
        fn every_task_gets_it_once_and_writers_exclusively(wants in prop::collection::vec(any::<bool>(), 1..100)) {
            let mut space = AddressSpace::default();
            let (mut held, mut got, mut next) = (Vec::new(), 0, Vec::new());
            for (tid, write) in (1..).zip(&wants) {
                if space.take(tid, *write) {
                    held.push(tid);
                }
                if tid % 2 == 0 && let Some(one) = held.pop() {
                    got += 1;
                    space.release(one, &mut next);
                    held.append(&mut next);
                }
                let writers = held.iter().filter(|tid| wants[**tid as usize - 1]).count();
                prop_assert!(writers == 0 || held.len() == 1);
            }
            while let Some(one) = held.pop() {
                got += 1;
                space.release(one, &mut next);
                held.append(&mut next);
            }
            prop_assert_eq!(got, wants.len());
            prop_assert_eq!(space.holders().count(), 0);
        }
    }
}
