//! The block layer: bios become requests, and requests pass through the scheduler to the device.

use std::collections::VecDeque;

use model::block::{DeviceNumber, Kind, Operation, SECTOR_BYTES};
use model::stall::{KindCounts, RequestRecord};

use super::bio::Bio;
use super::device::Device;
use super::elevator::{Choice, Elevator, Entry};
use super::places::Places;
use super::pool::{Limit, Pool, Waiting};
use super::traffic::{Passed, Seen, Traffic};
use crate::agenda::Agenda;

/// The modelled disk: a major for experimental use.
pub(super) const DEVICE: DeviceNumber = DeviceNumber::new(240, 0);

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// A task continues.
    Task(u32),
    /// The device completes a request.
    Done(u32),
    /// A woken task tries to get a tag.
    Look,
    /// The scheduler runs again.
    Kick,
}

/// The result of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Submitted {
    /// It is in a request.
    Accepted,
    /// Its task sleeps until a tag is free.
    Waits,
}

/// Parameters of a block layer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) limit: Limit,
    pub(super) depth: u32,
    pub(super) servers: u32,
    /// Longest request. 0: no merging.
    pub(super) max_sectors: u32,
    /// Latency from which a request reports which requests overtook it.
    pub(super) slow_ns: u64,
    /// Time from a freed tag until a woken waiter tries to get one. Until then any submitter may take it, and the
    /// waiter goes to the end of the queue, as in sbitmap. 0: waiters come first.
    pub(super) wake_ns: u64,
}

#[derive(Debug, Default)]
struct Request {
    entry: Option<Entry>,
    kind: Kind,
    pooled_sync: bool,
    number: u32,
    queued_ns: u64,
    got_ns: u64,
    issued_ns: Option<u64>,
    service_ns: Option<u64>,
    seen: Seen,
    bios: Vec<Bio>,
}

/// A completed request.
#[derive(Debug)]
pub(super) struct CompletedRequest {
    pub(super) record: RequestRecord,
    pub(super) bios: Vec<Bio>,
    /// Requests completed since it arrived; for slow requests.
    pub(super) done_since: KindCounts,
}

/// The block layer.
#[derive(Debug)]
pub(super) struct Layer {
    pub(super) agenda: Agenda<Due>,
    pub(super) pool: Pool,
    pub(super) device: Device,
    shape: Shape,
    requests: Vec<Request>,
    free: Vec<u32>,
    elevator: Box<dyn Elevator>,
    /// Flushes, which bypass the scheduler.
    at_once: VecDeque<u32>,
    traffic: Traffic,
    /// Requests in the scheduler by kind and end sector, and by kind and start sector.
    ends: Places,
    begins: Places,
    kick_ns: u64,
    insertions: u64,
    made: u32,
    granted: VecDeque<(Bio, u64)>,
}

/// Whether the kernel treats it as sync: `op_is_sync`.
pub(super) fn is_sync(kind: Kind) -> bool {
    kind.operation() != Operation::Write || kind.has(Kind::SYNC) || kind.has(Kind::FUA) || kind.has(Kind::PREFLUSH)
}

impl Layer {
    pub(super) fn new(shape: Shape, elevator: Box<dyn Elevator>) -> Layer {
        Layer {
            agenda: Agenda::new(),
            pool: Pool::new(shape.limit),
            device: Device::new(shape.depth, shape.servers),
            shape,
            requests: Vec::new(),
            free: Vec::new(),
            elevator,
            at_once: VecDeque::new(),
            traffic: Traffic::default(),
            ends: Places::default(),
            begins: Places::default(),
            kick_ns: 0,
            insertions: 0,
            made: 0,
            granted: VecDeque::new(),
        }
    }

    pub(super) fn now_ns(&self) -> u64 {
        self.agenda.now_ns()
    }

    /// Requests in the scheduler.
    pub(super) fn in_scheduler(&self) -> usize {
        self.elevator.len()
    }

    /// Submits a bio. `promoted`: a task waits for it, whatever its kind.
    pub(super) fn submit(&mut self, bio: Bio, promoted: bool) -> Submitted {
        if self.merge(bio) {
            return Submitted::Accepted;
        }
        let sync = promoted || is_sync(bio.kind);
        let seen = self.traffic.came(bio.kind);
        self.made += 1;
        let waiting = Waiting { bio, number: self.made, seen, queued_ns: self.now_ns(), sync, promoted };
        if self.pool.take(sync, self.shape.wake_ns > 0) {
            self.make(waiting);
            Submitted::Accepted
        } else {
            self.pool.wait(waiting);
            Submitted::Waits
        }
    }

    /// The next waiting bio that has got its tag, and when its wait began.
    pub(super) fn next_granted(&mut self) -> Option<(Bio, u64)> {
        self.granted.pop_front()
    }

    fn make(&mut self, from: Waiting) {
        let Waiting { bio, number, seen, queued_ns, sync, .. } = from;
        let id = self.free.pop().unwrap_or_else(|| {
            self.requests.push(Request::default());
            self.requests.len() as u32 - 1
        });
        self.insertions += 1;
        let now_ns = self.now_ns();
        let entry = Entry {
            id,
            order: self.insertions,
            sector: bio.sector,
            sectors: bio.sectors,
            write: bio.kind.operation() != Operation::Read,
            sync,
            owner: bio.task,
            inserted_ns: now_ns,
        };
        self.requests[id as usize] = Request {
            entry: Some(entry),
            kind: bio.kind,
            pooled_sync: sync,
            number,
            queued_ns,
            got_ns: now_ns,
            issued_ns: None,
            service_ns: bio.service_ns,
            seen,
            bios: vec![bio],
        };
        if bio.kind.operation() == Operation::None {
            self.at_once.push_back(id);
        } else {
            self.known_places(&entry, bio.kind, true);
            self.elevator.insert(entry, now_ns);
        }
    }

    fn known_places(&mut self, entry: &Entry, kind: Kind, known: bool) {
        if self.shape.max_sectors == 0 {
            return;
        }
        let end = (kind.number(), entry.sector + u64::from(entry.sectors));
        let begin = (kind.number(), entry.sector);
        if known {
            self.ends.insert(end, entry.id);
            self.begins.insert(begin, entry.id);
            return;
        }
        // Another request may have taken the same place since.
        for (places, place) in [(&mut self.ends, end), (&mut self.begins, begin)] {
            if places.get(&place) == Some(&entry.id) {
                places.remove(&place);
            }
        }
    }

    /// Merges a bio into a request in the scheduler, at the back or at the front.
    fn merge(&mut self, bio: Bio) -> bool {
        if self.shape.max_sectors == 0 || bio.sectors == 0 {
            return false;
        }
        let kind = bio.kind.number();
        let behind = self.ends.get(&(kind, bio.sector)).copied();
        let before = || self.begins.get(&(kind, bio.sector + u64::from(bio.sectors))).copied();
        let Some(id) = behind.or_else(before) else { return false };
        let request = &self.requests[id as usize];
        let Some(old) = request.entry else { return false };
        if old.sectors + bio.sectors > self.shape.max_sectors {
            return false;
        }
        let new = Entry { sector: old.sector.min(bio.sector), sectors: old.sectors + bio.sectors, ..old };
        self.elevator.remove(&old);
        self.known_places(&old, bio.kind, false);
        self.known_places(&new, bio.kind, true);
        let request = &mut self.requests[id as usize];
        request.entry = Some(new);
        request.bios.push(bio);
        let now_ns = self.now_ns();
        self.elevator.insert(new, now_ns);
        true
    }

    /// Promotes a task's requests, since another task waits for them: those in the scheduler become sync requests of
    /// `owner`, and its bio that waits for a tag becomes sync.
    pub(super) fn promote(&mut self, task: u32, owner: u32) {
        self.pool.promote(task);
        let now_ns = self.now_ns();
        for request in &mut self.requests {
            let Some(old) = request.entry else { continue };
            if old.sync || request.issued_ns.is_some() || !request.bios.iter().any(|bio| bio.task == task) {
                continue;
            }
            self.elevator.remove(&old);
            let new = Entry { sync: true, owner, ..old };
            request.entry = Some(new);
            self.elevator.insert(new, now_ns);
        }
        self.grant();
    }

    /// Dispatches requests while the device has room. `draw`: service time of a request.
    pub(super) fn dispatch(&mut self, draw: &mut dyn FnMut(Kind, u32) -> u64) {
        let now_ns = self.now_ns();
        while self.device.has_room() {
            let id = match self.at_once.pop_front() {
                Some(id) => id,
                None => match self.elevator.choose(now_ns) {
                    Choice::Issue(id) => id,
                    Choice::Until(at_ns) => return self.kick(at_ns),
                    Choice::Nothing => return,
                },
            };
            let request = &mut self.requests[id as usize];
            request.issued_ns = Some(now_ns);
            let Some(entry) = request.entry else { unreachable!("a scheduler dispatches only inserted requests") };
            let kind = request.kind;
            request.service_ns.get_or_insert_with(|| draw(kind, entry.sectors));
            self.known_places(&entry, kind, false);
            if self.device.issue(id) {
                self.begin(id);
            }
        }
    }

    fn kick(&mut self, at_ns: u64) {
        if self.kick_ns != at_ns {
            self.kick_ns = at_ns;
            self.agenda.at(at_ns, Due::Kick);
        }
    }

    fn begin(&mut self, id: u32) {
        let service_ns = self.requests[id as usize].service_ns.unwrap_or(0);
        self.agenda.after(service_ns, Due::Done(id));
    }

    /// The device completes a request.
    pub(super) fn complete(&mut self, id: u32) -> CompletedRequest {
        let now_ns = self.now_ns();
        if let Some(next) = self.device.done() {
            self.begin(next);
        }
        let request = std::mem::take(&mut self.requests[id as usize]);
        let Some(entry) = request.entry else { unreachable!("a request completes once") };
        self.traffic.left(request.kind);
        let passed = self.passed(&request);
        let through = request.kind.operation() != Operation::None;
        if through {
            self.elevator.completed(&entry, now_ns);
        }
        self.free.push(id);
        self.pool.give_back(request.pooled_sync);
        self.wake();
        let record = RequestRecord {
            request: request.number,
            device: DEVICE,
            sector: entry.sector,
            bytes: entry.sectors * SECTOR_BYTES,
            kind: request.kind,
            tid: request.bios.first().map_or(0, |bio| bio.task + 1),
            merges: request.bios.len() as u32 - 1,
            queued_ns: Some(request.queued_ns),
            got_ns: Some(request.got_ns),
            inserted_ns: through.then_some(entry.inserted_ns),
            issued_ns: request.issued_ns,
            completed_ns: now_ns,
            errno: None,
            throttled: false,
            parts: None,
            in_flight: passed.in_flight,
            overtaken_by: passed.overtaken_by,
        };
        CompletedRequest { record, done_since: passed.done_since, bios: request.bios }
    }

    /// Tasks that wait for a request may get one.
    fn wake(&mut self) {
        match self.shape.wake_ns {
            0 => self.grant(),
            wake_ns if self.pool.waiters().next().is_some() => self.agenda.after(wake_ns, Due::Look),
            _ => {}
        }
    }

    /// The overtaking of a slow request that has just completed; nothing of a fast one.
    fn passed(&mut self, request: &Request) -> Passed {
        if self.now_ns() - request.queued_ns < self.shape.slow_ns {
            return Passed::default();
        }
        let inside = self.requests.iter().filter(|other| other.entry.is_some());
        let inside = inside.map(|other| (other.number, other.kind));
        let all = inside.chain(self.pool.waiters().map(|waiting| (waiting.number, waiting.bio.kind)));
        let older = all.filter(|(other, _)| *other < request.number).map(|(_, kind)| kind);
        self.traffic.judge(&request.seen, older)
    }

    /// Waiters get the free tags.
    fn grant(&mut self) {
        while let Some(waiting) = self.pool.next() {
            self.granted.push_back((waiting.bio, waiting.queued_ns));
            if !self.merge_granted(&waiting) {
                self.make(waiting);
            }
        }
    }

    /// The first waiter tries to get a tag.
    pub(super) fn look(&mut self) {
        if let Some(waiting) = self.pool.look() {
            self.granted.push_back((waiting.bio, waiting.queued_ns));
            self.make(waiting);
        }
    }

    /// A bio that waited may be mergeable by now; its tag is then free again.
    fn merge_granted(&mut self, waiting: &Waiting) -> bool {
        let merged = !waiting.promoted && self.merge(waiting.bio);
        if merged {
            self.pool.give_back(waiting.sync);
            self.traffic.withdrew(waiting.bio.kind);
        }
        merged
    }
}
