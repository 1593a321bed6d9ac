//! A device: a hardware queue, and the number of requests that it serves at once.

use std::collections::VecDeque;

/// A device.
#[derive(Debug)]
pub(super) struct Device {
    /// Queue depth.
    depth: u32,
    /// Requests that it serves at once.
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

    /// Requests at the device.
    pub(super) fn inside(&self) -> u32 {
        self.busy + self.queue.len() as u32
    }

    /// Takes a request. True if its service starts now.
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

    /// Completes a request. Returns the request whose service starts.
    pub(super) fn done(&mut self) -> Option<u32> {
        let next = self.queue.pop_front();
        if next.is_none() {
            self.busy -= 1;
        }
        next
    }

    /// Whether it ever exceeded its depth.
    #[cfg(test)]
    pub(super) fn overfull(&self) -> bool {
        self.most > self.depth
    }
}
