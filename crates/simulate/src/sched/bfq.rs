//! BFQ, after block/bfq-iosched.c and bfq-wf2q.c of Linux 6.x, much simplified: budgets of sectors, served in the order
//! of virtual finish times, with one queue per task and one for all async requests.

use super::elevator::{Choice, Elevator, Entry, Queue};

/// The scheduler's settings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tunables {
    /// `max_budget`, or `bfq_default_max_budget`: sectors.
    pub(super) budget_sectors: u64,
    /// `timeout_sync`: longest time of a budget.
    pub(super) timeout_ns: u64,
    /// `slice_idle`.
    pub(super) slice_idle_ns: u64,
    /// `bfq_async_charge_factor`: cost of an async sector.
    pub(super) async_charge: u64,
    /// `wr_coeff`: weight of a task during weight raising; 1 with `low_latency` off.
    pub(super) raised_weight: u64,
    /// `wr_max_time`: duration of weight raising.
    pub(super) raised_ns: u64,
    /// `wr_min_idle_time`: idle time after which weight raising starts again.
    pub(super) begins_again_ns: u64,
    /// `fifo_expire_sync`, `fifo_expire_async`.
    pub(super) fifo_expire_ns: [u64; 2],
}

const ASYNC: usize = 0;
/// Tasks that start within this time of each other belong to one burst (`bfq_burst_interval`).
const BURST_NS: u64 = 180_000_000;
/// A burst of this size is a server or a build, and gets no weight raising (`bfq_large_burst_thresh`).
const LARGE_BURST: usize = 8;
/// Virtual time of a sector at weight 1.
const SCALE: u64 = 1 << 12;

#[derive(Debug, Default)]
struct Share {
    queue: Queue,
    /// Virtual start and finish.
    start: u64,
    finish: u64,
    served: u64,
    at_device: u64,
    position: u64,
    raised_until_ns: u64,
    raised: bool,
    last_ns: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Bfq {
    tunables: Tunables,
    shares: Vec<Share>,
    /// Virtual time.
    time: u64,
    active: Option<usize>,
    active_until_ns: u64,
    idle_until_ns: Option<u64>,
    waiting: usize,
    /// Queues of the current burst, and the start of the last one.
    burst: Vec<usize>,
    last_begun_ns: u64,
}

impl Bfq {
    pub(super) fn new(tunables: Tunables) -> Bfq {
        let shares = vec![Share::default()];
        let (time, active, active_until_ns, idle_until_ns, waiting) = Default::default();
        let (burst, last_begun_ns) = Default::default();
        Bfq { tunables, shares, time, active, active_until_ns, idle_until_ns, waiting, burst, last_begun_ns }
    }

    fn number(entry: &Entry) -> usize {
        if entry.sync { entry.owner as usize + 1 } else { ASYNC }
    }

    fn weight(&self, number: usize) -> u64 {
        if self.shares[number].raised { self.tunables.raised_weight } else { 1 }
    }

    fn backlog(&mut self, number: usize) {
        let weight = self.weight(number);
        let share = &mut self.shares[number];
        share.start = self.time.max(share.finish);
        share.finish = share.start + self.tunables.budget_sectors * SCALE / weight;
        share.served = 0;
    }

    /// Ends a budget, and charges what was served.
    fn expire(&mut self) {
        let Some(number) = self.active.take() else { return };
        self.idle_until_ns = None;
        let weight = self.weight(number);
        let share = &mut self.shares[number];
        share.finish = share.start + share.served * SCALE / weight;
        if !share.queue.is_empty() {
            self.backlog(number);
        }
    }

    /// A new queue: ends weight raising of all queues of a large burst.
    fn begin(&mut self, number: usize, now_ns: u64) {
        if now_ns - self.last_begun_ns > BURST_NS {
            self.burst.clear();
        }
        self.last_begun_ns = now_ns;
        self.burst.push(number);
        if self.burst.len() >= LARGE_BURST {
            for member in &self.burst {
                self.shares[*member].raised_until_ns = 0;
                self.shares[*member].raised = false;
            }
        }
    }

    /// Whether a queue without weight raising has requests: `wr_busy_queues < tot_busy_queues`.
    fn others_wait(&self) -> bool {
        self.shares.iter().any(|share| !share.raised && !share.queue.is_empty())
    }

    /// Whether to idle for the empty queue in service, since its weight would have no effect otherwise.
    fn worth_waiting_for(&self, number: usize) -> bool {
        number != ASYNC && self.shares[number].raised && self.others_wait()
    }

    /// The eligible queue with the earliest virtual finish time.
    fn next(&mut self) -> Option<usize> {
        let busy = || self.shares.iter().enumerate().filter(|(_, share)| !share.queue.is_empty());
        let earliest = busy().map(|(_, share)| share.start).min()?;
        let time = self.time.max(earliest);
        let chosen =
            busy().filter(|(_, share)| share.start <= time).min_by_key(|(number, share)| (share.finish, *number));
        let chosen = chosen.map(|(number, _)| number);
        self.time = time;
        chosen
    }

    fn take(&mut self, number: usize, now_ns: u64) -> Choice {
        let busy = |other: &usize| *other == number || !self.shares[*other].queue.is_empty();
        let weights: u64 = (0..self.shares.len()).filter(busy).map(|other| self.weight(other)).sum();
        let expire_ns = self.tunables.fifo_expire_ns[usize::from(number == ASYNC)];
        let share = &mut self.shares[number];
        let expired = share.queue.oldest().filter(|oldest| now_ns >= oldest.inserted_ns + expire_ns);
        let Some(entry) = expired.or_else(|| share.queue.next_around(share.position)).copied() else {
            return Choice::Nothing;
        };
        share.queue.remove(&entry);
        share.position = entry.sector + u64::from(entry.sectors);
        let charge = u64::from(entry.sectors) * if entry.sync { 1 } else { self.tunables.async_charge };
        share.served += charge;
        share.at_device += 1;
        self.waiting -= 1;
        self.time += charge * SCALE / weights;
        Choice::Issue(entry.id)
    }

    fn continued(&self, number: usize, now_ns: u64) -> Option<Choice> {
        let share = &self.shares[number];
        if now_ns >= self.active_until_ns || share.served >= self.tunables.budget_sectors {
            return None;
        }
        if !share.queue.is_empty() {
            return Some(Choice::Issue(0));
        }
        if share.at_device > 0 && self.worth_waiting_for(number) {
            return Some(Choice::Nothing);
        }
        self.idle_until_ns.filter(|until_ns| now_ns < *until_ns).map(Choice::Until)
    }
}

impl Elevator for Bfq {
    fn insert(&mut self, entry: Entry, now_ns: u64) {
        let number = Bfq::number(&entry);
        if self.shares.len() <= number {
            self.shares.resize_with(number + 1, Share::default);
        }
        let share = &mut self.shares[number];
        let first = number != ASYNC && share.last_ns.is_none();
        let begins = share.last_ns.is_none_or(|last_ns| now_ns - last_ns > self.tunables.begins_again_ns);
        if number != ASYNC && begins {
            share.raised_until_ns = now_ns + self.tunables.raised_ns;
        }
        share.raised = number != ASYNC && now_ns < share.raised_until_ns;
        share.last_ns = Some(now_ns);
        if first {
            self.begin(number, now_ns);
        }
        let share = &mut self.shares[number];
        let was_empty = share.queue.is_empty();
        share.queue.insert(entry);
        self.waiting += 1;
        if self.active == Some(number) {
            self.idle_until_ns = None;
        } else if was_empty {
            self.backlog(number);
            // A weight-raised task preempts a queue without weight raising.
            if self.shares[number].raised && self.active.is_some_and(|active| !self.shares[active].raised) {
                self.expire();
            }
        }
    }

    fn choose(&mut self, now_ns: u64) -> Choice {
        if let Some(number) = self.active {
            match self.continued(number, now_ns) {
                Some(Choice::Issue(_)) => return self.take(number, now_ns),
                Some(other) => return other,
                None => self.expire(),
            }
        }
        let Some(number) = self.next() else { return Choice::Nothing };
        self.active = Some(number);
        self.active_until_ns = now_ns + self.tunables.timeout_ns;
        self.take(number, now_ns)
    }

    fn completed(&mut self, entry: &Entry, now_ns: u64) {
        let number = Bfq::number(entry);
        let share = &mut self.shares[number];
        share.at_device -= 1;
        share.last_ns = Some(now_ns);
        let empty = share.queue.is_empty() && share.at_device == 0;
        if self.active == Some(number) && empty && self.worth_waiting_for(number) {
            self.idle_until_ns = Some(now_ns + self.tunables.slice_idle_ns);
        }
    }

    fn remove(&mut self, entry: &Entry) {
        self.waiting -= usize::from(self.shares[Bfq::number(entry)].queue.remove(entry));
    }

    fn len(&self) -> usize {
        self.waiting
    }
}

#[cfg(test)]
mod tests {
    use super::{Bfq, Choice, Elevator, Entry, Tunables};

    const EQUAL: Tunables = Tunables {
        budget_sectors: 64,
        timeout_ns: u64::MAX / 2,
        slice_idle_ns: 8_000_000,
        async_charge: 3,
        raised_weight: 1,
        raised_ns: 0,
        begins_again_ns: 2_000_000_000,
        fifo_expire_ns: [u64::MAX / 2; 2],
    };

    /// Sectors served for task 0, task 1 and the async queue, all backlogged.
    fn shares(tunables: Tunables, requests: usize) -> [u64; 3] {
        let mut bfq = Bfq::new(tunables);
        for id in 0..3000_u32 {
            let (owner, sync) = [(0, true), (1, true), (9, false)][id as usize % 3];
            let sector = u64::from(id) * 8;
            let order = u64::from(id);
            bfq.insert(Entry { id, order, sector, sectors: 8, write: !sync, sync, owner, inserted_ns: 0 }, 0);
        }
        let mut shares = [0; 3];
        for _ in 0..requests {
            let Choice::Issue(id) = bfq.choose(0) else { panic!("nothing, with {} waiting", bfq.len()) };
            shares[id as usize % 3] += 8;
        }
        shares
    }

    #[test]
    fn equal_weights_share_equally_and_async_gets_a_third_of_that() {
        let [one, other, asynchronous] = shares(EQUAL, 1000);
        assert!(one.abs_diff(other) <= 128, "{one} {other}");
        let ratio = one as f64 / asynchronous as f64;
        assert!((2.5..3.5).contains(&ratio), "{one} {asynchronous}");
    }

    #[test]
    fn weight_raising_starves_async_requests() {
        let raised = Tunables { raised_weight: 30, raised_ns: u64::MAX / 2, ..EQUAL };
        let [one, other, asynchronous] = shares(raised, 1000);
        assert!(asynchronous * 20 < one + other, "{one} {other} {asynchronous}");
    }
}
