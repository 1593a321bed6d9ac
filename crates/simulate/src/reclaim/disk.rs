//! A disk: one request at a time. Tasks wait for requests of the sync queue; no task waits for the others.

use std::collections::VecDeque;

use crate::random::Random;

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Pages of a file; the task waits.
    Read,
    /// Inode clusters, for the tasks that wait for their buffers: the first, and how many.
    ClusterRead(u32, u32),
    /// An inode cluster.
    ClusterWrite(u32),
    /// A forced write of the log.
    Log,
    /// A chunk of the page cache.
    Writeback(u32),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub(super) what: Purpose,
    pub(super) tid: u32,
    pub(super) pages: u32,
    /// A task waits for it.
    pub(super) sync: bool,
    pub(super) number: u32,
    pub(super) queued_ns: u64,
    pub(super) issued_ns: u64,
}

/// Sync requests that may pass a waiting async request: the deadline scheduler's writes_starved.
const STARVED: u32 = 2;

#[derive(Debug, Default)]
pub(super) struct Disk {
    sync: VecDeque<Request>,
    later: VecDeque<Request>,
    busy: Option<Request>,
    passed: u32,
}

impl Disk {
    pub(super) fn put(&mut self, request: Request) {
        if request.sync { self.sync.push_back(request) } else { self.later.push_back(request) }
    }

    /// Starts the next request, if the disk is idle.
    pub(super) fn begin(&mut self, now_ns: u64) -> Option<Request> {
        if self.busy.is_some() {
            return None;
        }
        let later_first = !self.later.is_empty() && (self.sync.is_empty() || self.passed >= STARVED);
        let next = if later_first { self.later.pop_front() } else { self.sync.pop_front() };
        self.passed = if later_first || self.later.is_empty() { 0 } else { self.passed + 1 };
        self.busy = next.map(|request| Request { issued_ns: now_ns, ..request });
        self.busy
    }

    /// Completes the current request.
    pub(super) fn end(&mut self) -> Option<Request> {
        self.busy.take()
    }

    pub(super) fn len(&self) -> usize {
        self.sync.len() + self.later.len() + usize::from(self.busy.is_some())
    }
}

/// Service time of a request.
pub(super) fn service_ns(random: &mut Random, seek_ns: (u64, u64), transfer_ns: u64) -> u64 {
    crate::service::Service::Uniform(seek_ns.0, seek_ns.1).draw_ns(random) + transfer_ns
}

#[cfg(test)]
mod tests {
    use super::{Disk, Purpose, Request};

    #[test]
    fn async_requests_are_not_starved() {
        let mut disk = Disk::default();
        let request =
            Request { what: Purpose::Log, tid: 1, pages: 1, sync: true, number: 0, queued_ns: 0, issued_ns: 0 };
        for number in 0..10 {
            disk.put(Request { sync: number >= 3, number, ..request });
        }
        let mut order = Vec::new();
        while let Some(next) = disk.begin(0) {
            assert!(disk.begin(0).is_none(), "one at a time");
            order.push(next.number);
            disk.end();
        }
        assert_eq!(order, [3, 4, 0, 5, 6, 1, 7, 8, 2, 9]);
        assert_eq!(disk.len(), 0);
    }
}
