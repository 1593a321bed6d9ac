//! Extent locks (LDLM), as a target knows them.

use std::collections::VecDeque;

/// The locks of one file's part on one target, as the target knows them.
#[derive(Debug, Default)]
pub(super) struct Resource {
    pub(super) granted: Vec<Lock>,
    /// Writers whose wish conflicts with a granted lock, in the order of their coming.
    pub(super) waiting: VecDeque<Wish>,
    pub(super) numbered: u64,
}

#[derive(Debug)]
pub(super) struct Lock {
    pub(super) id: u64,
    pub(super) client: usize,
    pub(super) first: u64,
    pub(super) last: u64,
    /// Writers that write under it.
    pub(super) users: usize,
    /// The target has asked for it back; the client knows.
    pub(super) asked: bool,
    pub(super) returning: bool,
    /// Extents that have to be written before it is given back.
    pub(super) flushing: usize,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Wish {
    pub(super) writer: usize,
    pub(super) client: usize,
    pub(super) first: u64,
    pub(super) last: u64,
}

impl Lock {
    pub(super) fn covers(&self, wish: &Wish) -> bool {
        self.client == wish.client && self.first <= wish.first && wish.last <= self.last
    }

    pub(super) fn overlaps(&self, wish: &Wish) -> bool {
        self.first <= wish.last && wish.first <= self.last
    }
}

impl Resource {
    /// ldlm_extent_policy: up to what other clients have or wish for on either side.
    pub(super) fn widest(&mut self, wish: &Wish) -> Lock {
        let granted = self.granted.iter().map(|lock| (lock.first, lock.last));
        let wished = self.waiting.iter().filter(|other| other.client != wish.client);
        let (mut first, mut last) = (0, u64::MAX);
        for (other_first, other_last) in granted.chain(wished.map(|other| (other.first, other.last))) {
            if other_last < wish.first {
                first = first.max(other_last + 1);
            } else if other_first > wish.last {
                last = last.min(other_first - 1);
            }
        }
        self.numbered += 1;
        Lock {
            id: self.numbered,
            client: wish.client,
            first,
            last,
            users: 0,
            asked: false,
            returning: false,
            flushing: 0,
        }
    }
}
