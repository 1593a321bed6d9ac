//! The interface between the block layer and an I/O scheduler.

use std::collections::BTreeMap;

/// A request, as a scheduler sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    /// The layer's number for it; reused after its completion.
    pub(super) id: u32,
    /// Increases with each insertion.
    pub(super) order: u64,
    /// First sector.
    pub(super) sector: u64,
    /// Length.
    pub(super) sectors: u32,
    /// Not a read.
    pub(super) write: bool,
    /// Sync: reads, and writes with REQ_SYNC, FUA or PREFLUSH.
    pub(super) sync: bool,
    /// The task whose queue it belongs to, if each task has a queue.
    pub(super) owner: u32,
    /// When it was inserted into the scheduler.
    pub(super) inserted_ns: u64,
}

/// A scheduler's answer when the device has room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// Dispatch this request; it leaves the scheduler.
    Issue(u32),
    /// Nothing before this time, unless a request arrives or completes.
    Until(u64),
    /// Nothing until a request arrives or completes.
    Nothing,
}

/// An I/O scheduler.
pub(super) trait Elevator: std::fmt::Debug {
    /// Takes a request.
    fn insert(&mut self, entry: Entry, now_ns: u64);

    /// The device has room.
    fn choose(&mut self, now_ns: u64) -> Choice;

    /// The device has completed a request that [`Elevator::choose`] dispatched.
    fn completed(&mut self, entry: &Entry, now_ns: u64);

    /// Removes a request that was not issued: it was promoted or grew by a merge, and will be inserted again.
    fn remove(&mut self, entry: &Entry);

    /// Requests in the scheduler.
    fn len(&self) -> usize;
}

/// Requests by sector and by age.
#[derive(Debug, Default)]
pub(super) struct Queue {
    by_sector: BTreeMap<(u64, u32), Entry>,
    by_age: BTreeMap<u64, (u64, u32)>,
}

impl Queue {
    pub(super) fn insert(&mut self, entry: Entry) {
        self.by_sector.insert((entry.sector, entry.id), entry);
        self.by_age.insert(entry.order, (entry.sector, entry.id));
    }

    /// Removes a request. Returns whether it was present.
    pub(super) fn remove(&mut self, entry: &Entry) -> bool {
        self.by_age.remove(&entry.order);
        self.by_sector.remove(&(entry.sector, entry.id)).is_some()
    }

    pub(super) fn len(&self) -> usize {
        self.by_sector.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_sector.is_empty()
    }

    pub(super) fn oldest(&self) -> Option<&Entry> {
        let key = self.by_age.values().next()?;
        self.by_sector.get(key)
    }

    /// The first request at or after a sector.
    pub(super) fn from(&self, sector: u64) -> Option<&Entry> {
        self.by_sector.range((sector, 0)..).next().map(|(_, entry)| entry)
    }

    /// The same, wrapping to the lowest sector: a one-way elevator.
    pub(super) fn next_around(&self, sector: u64) -> Option<&Entry> {
        self.from(sector).or_else(|| self.by_sector.values().next())
    }
}
