//! Extent locks (LDLM), as a target knows them.

use std::collections::VecDeque;

/// The locks of one file's part on one target, as the target knows them.
#[derive(Debug, Default)]
pub(super) struct Resource {
    pub(super) granted: Vec<Lock>,
    /// Lock requests that conflict with a granted lock, in arrival order.
    pub(super) waiting: VecDeque<LockRequest>,
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
    /// The target has sent a blocking AST for it.
    pub(super) blocking_ast: bool,
    pub(super) returning: bool,
    /// Extents to write before it is returned.
    pub(super) flushing: usize,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct LockRequest {
    pub(super) writer: usize,
    pub(super) client: usize,
    pub(super) first: u64,
    pub(super) last: u64,
}

impl Lock {
    pub(super) fn covers(&self, request: &LockRequest) -> bool {
        self.client == request.client && self.first <= request.first && request.last <= self.last
    }

    pub(super) fn overlaps(&self, request: &LockRequest) -> bool {
        self.first <= request.last && request.first <= self.last
    }
}

impl Resource {
    /// ldlm_extent_policy: as wide as other clients' locks and requests on either side allow.
    pub(super) fn widest(&mut self, request: &LockRequest) -> Lock {
        let granted = self.granted.iter().map(|lock| (lock.first, lock.last));
        let requested = self.waiting.iter().filter(|other| other.client != request.client);
        let (mut first, mut last) = (0, u64::MAX);
        for (other_first, other_last) in granted.chain(requested.map(|other| (other.first, other.last))) {
            if other_last < request.first {
                first = first.max(other_last + 1);
            } else if other_first > request.last {
                last = last.min(other_first - 1);
            }
        }
        self.numbered += 1;
        Lock {
            id: self.numbered,
            client: request.client,
            first,
            last,
            users: 0,
            blocking_ast: false,
            returning: false,
            flushing: 0,
        }
    }
}
