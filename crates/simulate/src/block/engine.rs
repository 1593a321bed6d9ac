//! The clock, the agenda, and the life of requests.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use model::block::{Action, BlockEvent, DeviceNumber, Kind, Operation};

use super::device::{Disk, FlushStep, Piece, Request};
use super::task::Task;
use super::true_bio::TrueBio;
use super::workload::Workload;
use crate::random::Random;

/// A due event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// A task's next step.
    Task(usize),
    /// The disk has completed the request, or the first part of it.
    Done(usize),
    /// The driver requeues the request.
    Back(usize),
    /// The disk has flushed its cache.
    Flushed(usize),
    /// The flush machine starts a flush if one is pending.
    Flush(usize),
}

/// Number of the stacked device.
pub(super) const STACKED: DeviceNumber = DeviceNumber::new(253, 0);
/// Kernel threads that complete and dispatch.
pub(super) const KERNEL_PID: u32 = 14;

pub(super) struct Engine<E: FnMut(&BlockEvent), B: FnMut(&TrueBio)> {
    pub(super) workload: Workload,
    pub(super) random: Random,
    pub(super) now_ns: u64,
    pub(super) agenda: BinaryHeap<Reverse<(u64, u64, Due)>>,
    appointments: u64,
    pub(super) tasks: Vec<Task>,
    pub(super) disks: Vec<Disk>,
    pub(super) requests: Vec<Request>,
    pub(super) unused: Vec<usize>,
    /// Bios in flight in each region of each disk: a region belongs to one batch at a time.
    pub(super) regions: HashMap<(usize, u64), u32>,
    pub(super) bios_left: u64,
    event: E,
    bio: B,
}

impl<E: FnMut(&BlockEvent), B: FnMut(&TrueBio)> Engine<E, B> {
    pub(super) fn new(workload: Workload, event: E, bio: B) -> Engine<E, B> {
        let mut random = Random::new(workload.seed);
        let disks = (0..workload.disks)
            .map(|number| Disk {
                number: DeviceNumber::new(8, number * 16),
                scheduler: random.chance(workload.scheduler),
                reads_first: random.chance(workload.reads_first),
                durable: random.chance(500),
                at_work: 0,
                queue: Default::default(),
                flush_pending: Vec::new(),
                flush_running: Vec::new(),
                flush_issued_ns: 0,
            })
            .collect();
        let tasks = (0..workload.tasks).map(|number| Task::new(1000 + number, number % workload.cpus)).collect();
        let mut engine = Engine {
            now_ns: workload.start_ns,
            bios_left: workload.bios,
            workload,
            random,
            agenda: BinaryHeap::new(),
            appointments: 0,
            tasks,
            disks,
            requests: Vec::new(),
            unused: Vec::new(),
            regions: HashMap::new(),
            event,
            bio,
        };
        for task in 0..engine.tasks.len() {
            engine.schedule(1000, Due::Task(task));
        }
        engine
    }

    pub(super) fn run(mut self) {
        while let Some(Reverse((at_ns, _, due))) = self.agenda.pop() {
            self.now_ns = self.now_ns.max(at_ns);
            match due {
                Due::Task(task) => self.step(task),
                Due::Done(request) => self.done(request),
                Due::Back(request) => self.back(request),
                Due::Flush(disk) => self.start_flush(disk),
                Due::Flushed(disk) => self.flushed(disk),
            }
        }
    }

    /// Schedules an event, `mean_ns` from now on average.
    pub(super) fn schedule(&mut self, mean_ns: u64, due: Due) {
        let at_ns = self.now_ns + self.random.time_ns(mean_ns);
        self.appointments += 1;
        self.agenda.push(Reverse((at_ns, self.appointments, due)));
    }

    /// Emits an event now, and returns its time. No two events have the same time.
    pub(super) fn emit(&mut self, mut event: BlockEvent) -> u64 {
        self.now_ns += 1 + self.random.below(100);
        event.time_ns = self.now_ns;
        (self.event)(&event);
        self.now_ns
    }

    pub(super) fn request_event(&self, action: Action, id: usize) -> BlockEvent {
        let request = &self.requests[id];
        BlockEvent {
            sector: request.sector,
            bytes: request.sectors * 512,
            pid: request.pid,
            cpu: request.cpu,
            kind: request.kind,
            cgroup: request.pieces.first().map_or(0, |piece| piece.cgroup),
            ..BlockEvent::new(0, action, self.disks[request.disk].number)
        }
    }

    pub(super) fn add_request(&mut self, request: Request) -> usize {
        match self.unused.pop() {
            Some(id) => {
                self.requests[id] = request;
                id
            }
            None => {
                self.requests.push(request);
                self.requests.len() - 1
            }
        }
    }

    /// Inserts the request into the I/O scheduler queue.
    pub(super) fn insert(&mut self, id: usize) {
        let at_ns = self.emit(self.request_event(Action::Insert, id));
        let request = &mut self.requests[id];
        request.inserted_ns.get_or_insert(at_ns);
        let disk = &mut self.disks[request.disk];
        if disk.reads_first && request.kind.operation() == Operation::Read {
            let reads = disk.queue.iter().take_while(|&&other| is_read(&self.requests[other])).count();
            disk.queue.insert(reads, id);
        } else {
            disk.queue.push_back(id);
        }
    }

    /// Issues requests until the disk is full.
    pub(super) fn dispatch(&mut self, disk: usize) {
        while self.disks[disk].at_work < self.workload.depth {
            let Some(id) = self.disks[disk].queue.pop_front() else { return };
            self.issue(id);
        }
    }

    pub(super) fn issue(&mut self, id: usize) {
        let at_ns = self.emit(self.request_event(Action::Issue, id));
        let request = &mut self.requests[id];
        request.issued_ns = at_ns;
        self.disks[request.disk].at_work += 1;
        let service_ns = self.workload.service_ns;
        if !self.requests[id].troubled && self.random.chance(self.workload.requeue) {
            self.requests[id].troubled = true;
            self.schedule(service_ns / 20, Due::Back(id));
        } else {
            self.schedule(service_ns, Due::Done(id));
        }
    }

    fn back(&mut self, id: usize) {
        self.emit(self.request_event(Action::Requeue, id));
        let disk = self.requests[id].disk;
        self.disks[disk].at_work -= 1;
        if self.disks[disk].scheduler || self.random.chance(500) {
            self.insert(id);
        } else {
            self.disks[disk].queue.push_front(id);
        }
        self.dispatch(disk);
    }

    fn done(&mut self, id: usize) {
        let cpu = self.random.below(u64::from(self.workload.cpus)) as u32;
        let mut event = self.request_event(Action::Complete, id);
        (event.pid, event.cpu, event.cgroup) = (KERNEL_PID + cpu, cpu, 0);
        let request = &self.requests[id];
        let sectors = request.sectors;
        if sectors >= 16 && !request.troubled && self.random.chance(self.workload.partial) {
            self.requests[id].troubled = true;
            let part = 8 * (1 + self.random.below(u64::from(sectors / 8 - 1))) as u32;
            event.bytes = part * 512;
            let at_ns = self.emit(event);
            let request = &mut self.requests[id];
            request.sector += u64::from(part);
            request.sectors -= part;
            self.complete_pieces(id, at_ns);
            self.schedule(self.workload.service_ns / 4, Due::Done(id));
            return;
        }
        let at_ns = self.emit(event);
        let disk = self.requests[id].disk;
        self.disks[disk].at_work -= 1;
        if self.requests[id].flush == FlushStep::Data {
            self.data_written(id);
        } else {
            self.requests[id].sector += u64::from(sectors);
            self.complete_pieces(id, at_ns);
            self.unused.push(id);
        }
        self.dispatch(disk);
    }

    /// Completes the bios that end before the request's new start.
    pub(super) fn complete_pieces(&mut self, id: usize, at_ns: u64) {
        let start = self.requests[id].sector;
        let (done, left) =
            std::mem::take(&mut self.requests[id].pieces).into_iter().partition(|piece: &Piece| piece.end() <= start);
        self.requests[id].pieces = left;
        for piece in &done {
            self.complete_piece(id, piece, at_ns);
        }
    }

    pub(super) fn complete_piece(&mut self, id: usize, piece: &Piece, at_ns: u64) {
        let truth = self.requests[id].truth(piece, self.disks[piece.disk].number, at_ns);
        (self.bio)(&truth);
        if piece.sectors > 0 {
            self.leave_region(piece.disk, piece.sector);
        }
        let Some(above) = &piece.above else { return };
        let completed_ns = self.emit(BlockEvent {
            sector: above.sector,
            bytes: piece.sectors * 512,
            pid: KERNEL_PID,
            kind: piece.kind,
            ..BlockEvent::new(0, Action::Complete, STACKED)
        });
        (self.bio)(&TrueBio {
            device: STACKED,
            sector: above.sector,
            queued_ns: above.queued_ns,
            completed_ns,
            q2g_ns: None,
            g2i_ns: None,
            g2d_ns: None,
            q2m_ns: None,
            i2d_ns: None,
            m2d_ns: None,
            d2c_ns: None,
            q2a_ns: Some(above.remapped_ns - above.queued_ns),
            a2c_ns: Some(completed_ns - above.remapped_ns),
            ..truth
        });
    }
}

fn is_read(request: &Request) -> bool {
    request.kind.operation() == Operation::Read
}

/// A write without the flags that the flush machine has handled.
pub(super) fn without_flush(kind: Kind, keep_fua: bool) -> Kind {
    let mut plain = Kind::of(kind.operation());
    for flag in [Kind::AHEAD, Kind::SYNC, Kind::META, Kind::FUA] {
        if kind.has(flag) && (flag != Kind::FUA || keep_fua) {
            plain = plain.with(flag);
        }
    }
    plain
}
