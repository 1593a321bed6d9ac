//! A device: a queue of its own, and a number of requests that it works on at once.

use std::collections::VecDeque;

/// A device.
#[derive(Debug)]
pub(super) struct Device {
    /// Requests that it takes.
    depth: u32,
    /// Requests that it works on.
    servers: u32,
    busy: u32,
    most: u32,
    queue: VecDeque<u32>,
}

impl Device {
    pub(super) fn new(depth: u32, servers: u32) -> Device {
        Device { depth, servers, busy: 0, most: 0, queue: VecDeque::new() }
    }

    pub(super) fn has_room(&self) -> bool {
        self.inside() < self.depth
    }

    /// How many it has.
    pub(super) fn inside(&self) -> u32 {
        self.busy + self.queue.len() as u32
    }

    /// Takes a request; true if it begins with it at once.
    pub(super) fn issue(&mut self, id: u32) -> bool {
        let begins = self.busy < self.servers;
        if begins {
            self.busy += 1;
        } else {
            self.queue.push_back(id);
        }
        self.most = self.most.max(self.inside());
        begins
    }

    /// Is done with one; the one that it begins with.
    pub(super) fn done(&mut self) -> Option<u32> {
        let next = self.queue.pop_front();
        if next.is_none() {
            self.busy -= 1;
        }
        next
    }

    /// Whether it ever had more than it takes.
    #[cfg(test)]
    pub(super) fn overfull(&self) -> bool {
        self.most > self.depth
    }
}
