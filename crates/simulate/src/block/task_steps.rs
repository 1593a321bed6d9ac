//! How a task's bios enter requests. Each step emits one event.

use model::block::{Action, BlockEvent, DeviceNumber, Kind};

use super::device::{Above, FlushStep, Piece, Request};
use super::engine::{Due, Engine, STACKED};
use super::task::Step;
use super::task_plan::REGION;
use super::true_bio::TrueBio;

/// Where the first partition begins.
const PARTITION_START: u64 = 2048;
/// Where the stacked device's data begins on the first disk.
const STACKED_START: u64 = 4096;

impl<E: FnMut(&BlockEvent), B: FnMut(&TrueBio)> Engine<E, B> {
    pub(super) fn step(&mut self, task: usize) {
        match self.tasks[task].steps.pop_front() {
            Some(step) => {
                self.do_step(task, step);
                self.schedule(400, Due::Task(task));
            }
            None if self.bios_left == 0 => {}
            None => {
                self.plan(task);
                self.schedule(self.workload.think_ns, Due::Task(task));
            }
        }
    }

    fn piece_event(&self, action: Action, task: usize, piece: &Piece) -> BlockEvent {
        BlockEvent {
            sector: piece.sector,
            bytes: piece.sectors * 512,
            pid: piece.pid,
            cpu: self.tasks[task].cpu,
            cgroup: piece.cgroup,
            kind: piece.kind,
            ..BlockEvent::new(0, action, self.disks[piece.disk].number)
        }
    }

    fn do_step(&mut self, task: usize, step: Step) {
        match step {
            Step::Plug(disk) => self.emit_plug(Action::Plug, task, disk, 0),
            Step::ComeFromPartition(piece) => self.come_from_partition(task, piece),
            Step::QueueStacked(piece) => self.queue_stacked(task, piece),
            Step::Remap(piece) => self.remap(task, piece),
            Step::Queue(piece) => self.queue(task, piece),
            Step::Split { piece, sectors } => self.split(task, piece, sectors),
            Step::Enter(piece) => self.enter(task, piece),
            Step::EnterFlush(piece) => self.enter_flush(task, piece),
            Step::Unplug(disk) => {
                let held = std::mem::take(&mut self.tasks[task].plugged);
                self.emit_plug(Action::Unplug, task, disk, held.len() as u64);
                self.tasks[task].steps.extend(held.into_iter().map(Step::Send));
            }
            Step::Send(id) => self.send(id),
        }
    }

    fn come_from_partition(&mut self, task: usize, piece: Piece) {
        let number = self.disks[piece.disk].number;
        let mut event = self.piece_event(Action::Remap, task, &piece);
        event.from_device = DeviceNumber::new(number.major(), number.minor() + 1);
        event.argument = piece.sector - PARTITION_START;
        self.emit(event);
        self.tasks[task].steps.push_front(Step::Queue(piece));
    }

    fn queue_stacked(&mut self, task: usize, mut piece: Piece) {
        let mut event = self.piece_event(Action::Queue, task, &piece);
        event.device = STACKED;
        event.sector -= STACKED_START;
        let sector = event.sector;
        let queued_ns = self.emit(event);
        piece.above = Some(Above { sector, queued_ns, remapped_ns: 0 });
        self.tasks[task].steps.push_front(Step::Remap(piece));
    }

    /// The stacked device remaps a bio to the first disk.
    fn remap(&mut self, task: usize, mut piece: Piece) {
        let mut event = self.piece_event(Action::Remap, task, &piece);
        event.from_device = STACKED;
        event.argument = piece.sector - STACKED_START;
        let remapped_ns = self.emit(event);
        if let Some(above) = &mut piece.above {
            above.remapped_ns = remapped_ns;
        }
        self.tasks[task].steps.push_front(Step::Queue(piece));
    }

    fn emit_plug(&mut self, action: Action, task: usize, disk: usize, argument: u64) {
        let owner = &self.tasks[task];
        let (pid, cpu) = (owner.pid, owner.cpu);
        self.emit(BlockEvent { pid, cpu, argument, ..BlockEvent::new(0, action, self.disks[disk].number) });
    }

    fn queue(&mut self, task: usize, mut piece: Piece) {
        piece.queued_ns = self.emit(self.piece_event(Action::Queue, task, &piece));
        let most = self.workload.max_sectors;
        let next = if piece.kind.has(Kind::PREFLUSH) || piece.kind.has(Kind::FUA) {
            Step::EnterFlush(piece)
        } else if piece.sectors > most && piece.above.is_none() {
            Step::Split { piece, sectors: most }
        } else {
            Step::Enter(piece)
        };
        self.tasks[task].steps.push_front(next);
    }

    fn split(&mut self, task: usize, mut piece: Piece, sectors: u32) {
        let mut event = self.piece_event(Action::Split, task, &piece);
        event.argument = piece.sector + u64::from(sectors);
        event.bytes = sectors * 512;
        self.emit(event);
        let mut rest = piece.clone();
        rest.sector += u64::from(sectors);
        rest.sectors -= sectors;
        piece.sectors = sectors;
        *self.regions.get_mut(&(piece.disk, piece.sector / REGION)).expect("taken") += 1;
        let most = self.workload.max_sectors;
        let steps = &mut self.tasks[task].steps;
        let again = rest.sectors > most;
        steps.push_front(if again { Step::Split { piece: rest, sectors: most } } else { Step::Enter(rest) });
        steps.push_front(Step::Enter(piece));
    }

    fn enter(&mut self, task: usize, mut piece: Piece) {
        if let Some((id, action)) = self.mergeable(task, &piece) {
            piece.entered_ns = self.emit(self.piece_event(action, task, &piece));
            piece.merged = true;
            let request = &mut self.requests[id];
            if action == Action::FrontMerge {
                request.sector = piece.sector;
            }
            request.sectors += piece.sectors;
            request.pieces.push(piece);
            return;
        }
        let id = self.get_request(task, piece);
        self.tasks[task].plugged.push(id);
    }

    fn get_request(&mut self, task: usize, mut piece: Piece) -> usize {
        piece.entered_ns = self.emit(self.piece_event(Action::GetRequest, task, &piece));
        self.add_request(Request {
            disk: piece.disk,
            kind: piece.kind,
            pid: piece.pid,
            cpu: self.tasks[task].cpu,
            sector: piece.sector,
            sectors: piece.sectors,
            pieces: vec![piece],
            inserted_ns: None,
            issued_ns: 0,
            flush: FlushStep::None,
            flush_after: false,
            troubled: false,
        })
    }

    /// The newest request under the task's plug that the piece can merge with, and at which end.
    fn mergeable(&self, task: usize, piece: &Piece) -> Option<(usize, Action)> {
        self.tasks[task].plugged.iter().rev().find_map(|&id| {
            let request = &self.requests[id];
            let fits = request.disk == piece.disk
                && request.kind == piece.kind
                && request.sectors + piece.sectors <= self.workload.max_sectors;
            match () {
                () if fits && request.end() == piece.sector => Some((id, Action::BackMerge)),
                () if fits && piece.end() == request.sector => Some((id, Action::FrontMerge)),
                () => None,
            }
        })
    }

    fn enter_flush(&mut self, task: usize, piece: Piece) {
        let kind = piece.kind;
        let id = self.get_request(task, piece);
        let disk = self.requests[id].disk;
        let flush_after = kind.has(Kind::FUA) && !self.disks[disk].durable;
        self.requests[id].flush_after = flush_after;
        if kind.has(Kind::PREFLUSH) {
            self.requests[id].flush = FlushStep::Before;
            self.want_flush(id);
        } else if flush_after {
            self.write_data(id);
        } else {
            // The disk honours FUA: a write like any other.
            self.send(id);
        }
    }

    /// The request leaves the plug.
    fn send(&mut self, id: usize) {
        let disk = self.requests[id].disk;
        let owner = &self.disks[disk];
        if !owner.scheduler && owner.at_work < self.workload.depth {
            self.issue(id);
        } else {
            self.insert(id);
            self.dispatch(disk);
        }
    }
}
