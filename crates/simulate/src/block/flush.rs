//! The flush machine: one flush of a disk at a time, for all requests that wait when it begins.

use model::block::{Action, BlockEvent, Kind};

use super::device::FlushStep;
use super::engine::{Due, Engine, KERNEL_PID, without_flush};
use super::true_bio::TrueBio;

impl<E: FnMut(&BlockEvent), B: FnMut(&TrueBio)> Engine<E, B> {
    /// The request needs a flush now.
    pub(super) fn want_flush(&mut self, id: usize) {
        let disk = self.requests[id].disk;
        self.disks[disk].flush_pending.push(id);
        if self.disks[disk].flush_running.is_empty() {
            self.schedule(2000, Due::Flush(disk));
        }
    }

    pub(super) fn start_flush(&mut self, disk: usize) {
        let owner = &mut self.disks[disk];
        if !owner.flush_running.is_empty() || owner.flush_pending.is_empty() {
            return;
        }
        owner.flush_running = std::mem::take(&mut owner.flush_pending);
        let number = owner.number;
        let event = BlockEvent {
            pid: KERNEL_PID,
            kind: Kind::default().with(Kind::PREFLUSH),
            ..BlockEvent::new(0, Action::Issue, number)
        };
        self.disks[disk].flush_issued_ns = self.emit(event);
        self.schedule(self.workload.service_ns * 4, Due::Flushed(disk));
    }

    pub(super) fn flushed(&mut self, disk: usize) {
        let event = BlockEvent {
            pid: KERNEL_PID,
            kind: Kind::default().with(Kind::PREFLUSH),
            ..BlockEvent::new(0, Action::Complete, self.disks[disk].number)
        };
        self.emit(event);
        for id in std::mem::take(&mut self.disks[disk].flush_running) {
            self.after_flush(id);
        }
        if !self.disks[disk].flush_pending.is_empty() {
            self.schedule(2000, Due::Flush(disk));
        }
        self.dispatch(disk);
    }

    fn after_flush(&mut self, id: usize) {
        let request = &mut self.requests[id];
        let has_data = request.sectors > 0;
        if request.flush == FlushStep::Before && has_data {
            self.write_data(id);
            return;
        }
        if !has_data {
            request.issued_ns = self.disks[request.disk].flush_issued_ns;
        }
        self.end_sequence(id);
    }

    /// Writes the data of a flush sequence like any other request.
    pub(super) fn write_data(&mut self, id: usize) {
        let request = &mut self.requests[id];
        request.flush = FlushStep::Data;
        request.troubled = true;
        request.kind = without_flush(request.kind, !request.flush_after);
        self.insert(id);
        self.dispatch(self.requests[id].disk);
    }

    pub(super) fn data_written(&mut self, id: usize) {
        if self.requests[id].flush_after {
            self.requests[id].flush = FlushStep::After;
            self.want_flush(id);
        } else {
            self.end_sequence(id);
        }
    }

    /// The sequence's own completion, without length.
    fn end_sequence(&mut self, id: usize) {
        let mut event = self.request_event(Action::Complete, id);
        event.kind = without_flush(event.kind, false);
        (event.bytes, event.pid, event.cgroup) = (0, KERNEL_PID, 0);
        let at_ns = self.emit(event);
        let pieces = std::mem::take(&mut self.requests[id].pieces);
        for piece in &pieces {
            self.complete_piece(id, piece, at_ns);
        }
        self.unused.push(id);
    }
}
