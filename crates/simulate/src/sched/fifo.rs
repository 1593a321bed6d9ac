//! `none`, and noop before it: dispatch in arrival order.

use std::collections::VecDeque;

use super::elevator::{Choice, Elevator, Entry};

#[derive(Debug, Default)]
pub(super) struct Fifo(VecDeque<Entry>);

impl Elevator for Fifo {
    fn insert(&mut self, entry: Entry, _now_ns: u64) {
        // A request that grew by a merge keeps its place.
        let place = self.0.iter().rposition(|other| other.order < entry.order).map_or(0, |before| before + 1);
        self.0.insert(place, entry);
    }

    fn choose(&mut self, _now_ns: u64) -> Choice {
        self.0.pop_front().map_or(Choice::Nothing, |entry| Choice::Issue(entry.id))
    }

    fn completed(&mut self, _entry: &Entry, _now_ns: u64) {}

    fn remove(&mut self, entry: &Entry) {
        self.0.retain(|other| other.id != entry.id);
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}
