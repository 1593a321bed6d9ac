//! What an I/O scheduler is to the block layer.

use std::collections::BTreeMap;

/// A request, as far as a scheduler looks at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    /// The layer's number for it, used again after its end.
    pub(super) id: u32,
    /// Grows with each insertion.
    pub(super) order: u64,
    /// First sector.
    pub(super) sector: u64,
    /// Length.
    pub(super) sectors: u32,
    /// Anything but a read.
    pub(super) write: bool,
    /// Somebody waits for it: reads, and writes that say so.
    pub(super) sync: bool,
    /// Whose queue it belongs to, where each task has its own.
    pub(super) owner: u32,
    /// When it was put into the scheduler.
    pub(super) inserted_ns: u64,
}

/// What a scheduler gives when the device has room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// This one; it is no longer the scheduler's.
    Issue(u32),
    /// Nothing before that moment, unless something comes or is done.
    Until(u64),
    /// Nothing, until something comes or is done.
    Nothing,
}

/// An I/O scheduler.
pub(super) trait Elevator: std::fmt::Debug {
    /// Takes a request.
    fn insert(&mut self, entry: Entry, now_ns: u64);

    /// The device has room.
    fn choose(&mut self, now_ns: u64) -> Choice;

    /// The device is done with a request that [`Elevator::choose`] gave.
    fn completed(&mut self, entry: &Entry, now_ns: u64);

    /// Takes a request back that was not issued: it was promoted, or grew by a merge, and will be inserted anew.
    fn remove(&mut self, entry: &Entry);

    /// How many wait here.
    fn len(&self) -> usize;
}

/// Requests by place and by age.
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

    /// Whether it was there.
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

    /// The first that begins there or behind.
    pub(super) fn from(&self, sector: u64) -> Option<&Entry> {
        self.by_sector.range((sector, 0)..).next().map(|(_, entry)| entry)
    }

    /// The same, and from the lowest sector on where there is none behind: an elevator that goes one way.
    pub(super) fn next_around(&self, sector: u64) -> Option<&Entry> {
        self.from(sector).or_else(|| self.by_sector.values().next())
    }
}
