//! mq-deadline, as in block/mq-deadline.c of Linux 6.x, for requests of one priority class.

use super::elevator::{Choice, Elevator, Entry, Queue};

/// The scheduler's settings under /sys/block/*/queue/iosched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tunables {
    /// `fifo_batch`: requests in sector order before deadlines and directions are checked again.
    pub(super) fifo_batch: u64,
    /// `read_expire`.
    pub(super) read_expire_ns: u64,
    /// `write_expire`.
    pub(super) write_expire_ns: u64,
    /// `writes_starved`: read batches that may pass waiting writes.
    pub(super) writes_starved: u64,
}

#[derive(Debug)]
pub(super) struct Deadline {
    tunables: Tunables,
    /// Reads, writes.
    queues: [Queue; 2],
    /// The elevator's position in each direction.
    position: [u64; 2],
    direction: usize,
    batched: u64,
    starved: u64,
}

impl Deadline {
    pub(super) fn new(tunables: Tunables) -> Deadline {
        Deadline { tunables, queues: Default::default(), position: [0; 2], direction: 0, batched: 0, starved: 0 }
    }

    /// The direction of a new batch. `None`: no requests.
    fn new_direction(&mut self) -> Option<usize> {
        let [reads, writes] = &self.queues;
        if !reads.is_empty() {
            if !writes.is_empty() {
                self.starved += 1;
                if self.starved > self.tunables.writes_starved {
                    self.starved = 0;
                    return Some(1);
                }
            }
            return Some(0);
        }
        self.starved = 0;
        (!writes.is_empty()).then_some(1)
    }

    fn first_of_batch(&self, direction: usize, now_ns: u64) -> Option<Entry> {
        let expire_ns = [self.tunables.read_expire_ns, self.tunables.write_expire_ns][direction];
        let queue = &self.queues[direction];
        let oldest = queue.oldest()?;
        if now_ns >= oldest.inserted_ns.saturating_add(expire_ns) {
            return Some(*oldest);
        }
        Some(*queue.from(self.position[direction]).unwrap_or(oldest))
    }
}

impl Elevator for Deadline {
    fn insert(&mut self, entry: Entry, _now_ns: u64) {
        self.queues[usize::from(entry.write)].insert(entry);
    }

    fn choose(&mut self, now_ns: u64) -> Choice {
        let continued = self.queues[self.direction].from(self.position[self.direction]).copied();
        let chosen = match continued {
            Some(entry) if self.batched < self.tunables.fifo_batch => entry,
            _ => {
                let Some(direction) = self.new_direction() else { return Choice::Nothing };
                let Some(entry) = self.first_of_batch(direction, now_ns) else { return Choice::Nothing };
                self.direction = direction;
                self.batched = 0;
                entry
            }
        };
        self.batched += 1;
        self.position[self.direction] = chosen.sector;
        self.queues[self.direction].remove(&chosen);
        Choice::Issue(chosen.id)
    }

    fn completed(&mut self, _entry: &Entry, _now_ns: u64) {}

    fn remove(&mut self, entry: &Entry) {
        self.queues[usize::from(entry.write)].remove(entry);
    }

    fn len(&self) -> usize {
        self.queues.iter().map(Queue::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{Choice, Deadline, Elevator, Entry, Tunables};

    const USUAL: Tunables = Tunables { fifo_batch: 2, read_expire_ns: 500, write_expire_ns: 5000, writes_starved: 2 };

    fn entry(id: u32, sector: u64, write: bool) -> Entry {
        Entry { id, order: u64::from(id), sector, sectors: 8, write, sync: !write, owner: 0, inserted_ns: 0 }
    }

    fn order(deadline: &mut Deadline, now_ns: u64) -> Vec<u32> {
        let mut order = Vec::new();
        while let Choice::Issue(id) = deadline.choose(now_ns) {
            order.push(id);
        }
        order
    }

    #[test]
    fn two_batches_of_reads_then_one_of_writes() {
        // The first batch does not count: no write waited for it.
        let mut deadline = Deadline::new(USUAL);
        for id in 0..8 {
            deadline.insert(entry(id, u64::from(id) * 8, false), 0);
            deadline.insert(entry(10 + id, u64::from(id) * 8, true), 0);
        }
        assert_eq!(order(&mut deadline, 0), [0, 1, 2, 3, 4, 5, 10, 11, 6, 7, 12, 13, 14, 15, 16, 17]);
    }

    #[test]
    fn an_expired_request_comes_before_a_near_one() {
        let mut deadline = Deadline::new(USUAL);
        deadline.insert(entry(0, 900, false), 0);
        deadline.insert(entry(1, 100, false), 0);
        deadline.insert(entry(2, 200, false), 0);
        assert_eq!(order(&mut deadline, 499), [1, 2, 0]);
        for (id, sector) in [(0, 900), (1, 100), (2, 200)] {
            deadline.insert(entry(id, sector, false), 0);
        }
        deadline.position = [0; 2];
        deadline.batched = 9;
        assert_eq!(order(&mut deadline, 500), [0, 1, 2]);
    }
}
