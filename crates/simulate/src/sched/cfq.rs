//! CFQ, after block/cfq-iosched.c of Linux 3.9, for tasks of one priority and without groups: a sync queue per task,
//! and one queue for all async requests.

use std::collections::VecDeque;

use super::elevator::{Choice, Elevator, Entry, Queue};

/// The scheduler's settings under /sys/block/*/queue/iosched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tunables {
    /// `quantum`: requests of one queue at the device.
    pub(super) quantum: u64,
    /// `slice_sync`.
    pub(super) slice_sync_ns: u64,
    /// `slice_async`.
    pub(super) slice_async_ns: u64,
    /// `slice_async_rq`.
    pub(super) slice_async_rq: u64,
    /// `slice_idle`.
    pub(super) slice_idle_ns: u64,
    /// `fifo_expire_sync`.
    pub(super) fifo_expire_sync_ns: u64,
    /// `fifo_expire_async`.
    pub(super) fifo_expire_async_ns: u64,
    /// `target_latency`, with `low_latency` on.
    pub(super) target_latency_ns: u64,
}

/// The number of the queue that all async requests share.
const ASYNC: usize = 0;
/// Sectors beyond which a request is a seek (`CFQQ_SEEK_THR`).
const SEEK_SECTORS: u64 = 800;
/// Factor of `slice_async_rq` at the default priority, 4 of 8 (`cfq_prio_to_maxrq`).
const USUAL_PRIORITY: u64 = 2 * (1 + 3);

#[derive(Debug, Default)]
struct Turn {
    queue: Queue,
    /// It is in the round.
    waits: bool,
    at_device: u64,
    /// Requests dispatched in its slice.
    given: u64,
    /// The next request is the oldest if it has expired; checked once per slice.
    look_at_age: bool,
    position: u64,
    /// A bit for each of the last 32 requests: it was a seek.
    seeks: u32,
    done_ns: Option<u64>,
    /// Think time: from a completion to the next request, smoothed.
    think_ns: u64,
}

#[derive(Debug)]
pub(super) struct Cfq {
    tunables: Tunables,
    queues: Vec<Turn>,
    /// The queues in round-robin order.
    round: VecDeque<usize>,
    active: Option<usize>,
    /// `None`: the slice begins with the first completion.
    slice_ends_ns: Option<u64>,
    idle_until_ns: Option<u64>,
    sync_at_device: u64,
    last_delayed_sync_ns: u64,
    waiting: usize,
}

impl Cfq {
    pub(super) fn new(tunables: Tunables) -> Cfq {
        Cfq {
            tunables,
            queues: vec![Turn::default()],
            round: VecDeque::new(),
            active: None,
            slice_ends_ns: None,
            idle_until_ns: None,
            sync_at_device: 0,
            last_delayed_sync_ns: 0,
            waiting: 0,
        }
    }

    fn number(entry: &Entry) -> usize {
        if entry.sync { entry.owner as usize + 1 } else { ASYNC }
    }

    fn slice_ns(&self, number: usize) -> u64 {
        let base_ns = if number == ASYNC { self.tunables.slice_async_ns } else { self.tunables.slice_sync_ns };
        let busy = self.round.iter().filter(|other| **other != ASYNC).count() as u64 + 1;
        let expected_ns = busy * self.tunables.slice_sync_ns;
        if expected_ns <= self.tunables.target_latency_ns {
            return base_ns;
        }
        let scaled_ns = u128::from(base_ns) * u128::from(self.tunables.target_latency_ns) / u128::from(expected_ns);
        (scaled_ns as u64).max(base_ns.min(2 * self.tunables.slice_idle_ns))
    }

    /// Whether to idle for the queue's next request rather than switch to another queue.
    fn worth_waiting_for(&self, number: usize) -> bool {
        let turn = &self.queues[number];
        let seeky = turn.seeks.count_ones() > 32 / 8;
        let alone = self.round.iter().all(|other| *other == ASYNC);
        number != ASYNC && turn.think_ns <= self.tunables.slice_idle_ns && (!seeky || alone)
    }

    /// Ends the active queue's slice.
    fn expire(&mut self) {
        let Some(number) = self.active.take() else { return };
        self.slice_ends_ns = None;
        self.idle_until_ns = None;
        if !self.queues[number].queue.is_empty() {
            self.queues[number].waits = true;
            self.round.push_back(number);
        }
    }

    /// Whether the active queue continues, or what to wait for.
    fn continued(&mut self, number: usize, now_ns: u64) -> Option<Choice> {
        let over = self.slice_ends_ns.is_some_and(|ends_ns| now_ns >= ends_ns);
        let turn = &self.queues[number];
        if over {
            return None;
        }
        if !turn.queue.is_empty() {
            return self.may_dispatch(number, now_ns);
        }
        if turn.at_device > 0 && self.worth_waiting_for(number) {
            return Some(Choice::Nothing);
        }
        match self.idle_until_ns {
            Some(until_ns) if now_ns < until_ns => Some(Choice::Until(until_ns)),
            _ => None,
        }
    }

    /// Whether the queue may dispatch a request now: `cfq_may_dispatch`. The request is not taken yet.
    fn may_dispatch(&self, number: usize, now_ns: u64) -> Option<Choice> {
        let turn = &self.queues[number];
        if number == ASYNC {
            // Sync requests drain from the device first.
            if self.sync_at_device > 0 {
                return Some(Choice::Nothing);
            }
            let calm = (now_ns - self.last_delayed_sync_ns) / self.tunables.slice_sync_ns.max(1);
            let most = self.tunables.slice_async_rq * USUAL_PRIORITY;
            let most_at_device = calm.min(self.tunables.quantum).max(1);
            if turn.given >= most {
                return None;
            }
            let free = turn.at_device < most_at_device;
            return Some(if free { Choice::Issue(0) } else { Choice::Nothing });
        }
        let alone = self.round.is_empty();
        let free = alone || turn.at_device < self.tunables.quantum;
        Some(if free { Choice::Issue(0) } else { Choice::Nothing })
    }

    fn take(&mut self, number: usize, now_ns: u64) -> Choice {
        let expire_ns =
            if number == ASYNC { self.tunables.fifo_expire_async_ns } else { self.tunables.fifo_expire_sync_ns };
        let turn = &mut self.queues[number];
        let oldest = turn.queue.oldest().filter(|oldest| turn.look_at_age && now_ns >= oldest.inserted_ns + expire_ns);
        turn.look_at_age = false;
        let Some(entry) = oldest.or_else(|| turn.queue.next_around(turn.position)).copied() else {
            return Choice::Nothing;
        };
        turn.queue.remove(&entry);
        turn.position = entry.sector + u64::from(entry.sectors);
        turn.at_device += 1;
        turn.given += 1;
        self.sync_at_device += u64::from(entry.sync);
        self.waiting -= 1;
        Choice::Issue(entry.id)
    }
}

impl Elevator for Cfq {
    fn insert(&mut self, entry: Entry, now_ns: u64) {
        let number = Cfq::number(&entry);
        if self.queues.len() <= number {
            self.queues.resize_with(number + 1, Turn::default);
        }
        let turn = &mut self.queues[number];
        let end = turn.position;
        turn.seeks = turn.seeks << 1 | u32::from(entry.sector.abs_diff(end) > SEEK_SECTORS);
        if let Some(done_ns) = turn.done_ns.take() {
            let think_ns = (now_ns - done_ns).min(2 * self.tunables.slice_idle_ns);
            turn.think_ns = (7 * turn.think_ns + think_ns) / 8;
        }
        turn.queue.insert(entry);
        self.waiting += 1;
        if self.active == Some(number) {
            self.idle_until_ns = None;
            return;
        }
        // A sync queue preempts the async queue.
        let preempts = self.active == Some(ASYNC) && number != ASYNC;
        if preempts {
            self.expire();
        }
        let turn = &mut self.queues[number];
        if preempts && turn.waits {
            self.round.retain(|other| *other != number);
        }
        if preempts {
            turn.waits = true;
            self.round.push_front(number);
        } else if !turn.waits {
            turn.waits = true;
            self.round.push_back(number);
        }
    }

    fn choose(&mut self, now_ns: u64) -> Choice {
        loop {
            if let Some(number) = self.active {
                match self.continued(number, now_ns) {
                    Some(Choice::Issue(_)) => return self.take(number, now_ns),
                    Some(other) => return other,
                    None => self.expire(),
                }
            }
            let Some(number) = self.round.pop_front() else { return Choice::Nothing };
            let turn = &mut self.queues[number];
            turn.waits = false;
            if turn.queue.is_empty() {
                continue;
            }
            turn.given = 0;
            turn.look_at_age = true;
            self.active = Some(number);
        }
    }

    fn completed(&mut self, entry: &Entry, now_ns: u64) {
        let number = Cfq::number(entry);
        let turn = &mut self.queues[number];
        turn.at_device -= 1;
        turn.done_ns = Some(now_ns);
        let idle = turn.queue.is_empty() && turn.at_device == 0;
        if entry.sync {
            self.sync_at_device -= 1;
            if now_ns > entry.inserted_ns + self.tunables.fifo_expire_async_ns {
                self.last_delayed_sync_ns = now_ns;
            }
        }
        if self.active != Some(number) {
            return;
        }
        if self.slice_ends_ns.is_none() {
            self.slice_ends_ns = Some(now_ns + self.slice_ns(number));
        }
        if idle && self.worth_waiting_for(number) {
            self.idle_until_ns = Some(now_ns + self.tunables.slice_idle_ns);
        }
    }

    fn remove(&mut self, entry: &Entry) {
        self.waiting -= usize::from(self.queues[Cfq::number(entry)].queue.remove(entry));
    }

    fn len(&self) -> usize {
        self.waiting
    }
}

#[cfg(test)]
mod tests {
    use super::{Cfq, Choice, Elevator, Entry, Tunables};

    const MS: u64 = 1_000_000;
    const USUAL: Tunables = Tunables {
        quantum: 8,
        slice_sync_ns: 100 * MS,
        slice_async_ns: 40 * MS,
        slice_async_rq: 2,
        slice_idle_ns: 8 * MS,
        fifo_expire_sync_ns: 125 * MS,
        fifo_expire_async_ns: 250 * MS,
        target_latency_ns: 300 * MS,
    };

    fn entry(id: u32, owner: u32, sync: bool) -> Entry {
        let sector = u64::from(id) * 8;
        Entry { id, order: u64::from(id), sector, sectors: 8, write: !sync, sync, owner, inserted_ns: 0 }
    }

    #[test]
    fn async_requests_wait_while_sync_requests_are_at_the_device() {
        let mut cfq = Cfq::new(USUAL);
        cfq.insert(entry(1, 0, false), 0);
        cfq.insert(entry(2, 0, true), 0);
        assert_eq!(cfq.choose(0), Choice::Issue(1));
        cfq.insert(entry(3, 0, false), 0);
        cfq.insert(entry(4, 1, true), 0);
        assert_eq!(cfq.choose(0), Choice::Issue(4), "it preempts");
        assert_eq!(cfq.choose(0), Choice::Nothing, "idles for the same task");
        cfq.completed(&entry(1, 0, false), MS);
        cfq.completed(&entry(4, 1, true), MS);
        assert_eq!(cfq.choose(MS), Choice::Until(9 * MS), "idles until slice_idle ends");
        assert_eq!(cfq.choose(9 * MS), Choice::Issue(2));
        cfq.completed(&entry(2, 0, true), 10 * MS);
        assert_eq!(cfq.choose(18 * MS), Choice::Issue(3));
        assert_eq!(cfq.len(), 0);
    }

    #[test]
    fn tasks_alternate_by_slices() {
        let mut cfq = Cfq::new(USUAL);
        for id in 0..40 {
            cfq.insert(entry(id, id % 2, true), 0);
        }
        let first: Vec<Choice> = (0..8).map(|_| cfq.choose(0)).collect();
        assert_eq!(first, [0, 2, 4, 6, 8, 10, 12, 14].map(Choice::Issue));
        assert_eq!(cfq.choose(0), Choice::Nothing, "quantum is reached");
        cfq.completed(&entry(0, 0, true), MS);
        assert_eq!(cfq.choose(MS), Choice::Issue(16));
        assert_eq!(cfq.choose(101 * MS), Choice::Issue(1), "the slice is over");
    }
}
