//! I/O of buffers: `bdwrite()`, `bawrite()`, `cluster_wbuild()`, and the completion of transfers.

use model::block::{DeviceNumber, Kind, Operation};
use model::stall::RequestRecord;

use super::buffers::State;
use super::device::Transfer;
use super::engine::{Due, Engine};
use super::task::Step;
use super::wait::Reason;

/// Dirty buffers of a file beyond dirtybufthresh at which all of them are written.
const FAR_BEYOND: u64 = 10;

impl Engine<'_> {
    /// Writes the buffer now. Returns whether its task may continue.
    pub(super) fn write_now(&mut self, task: usize, block: u64) -> bool {
        self.buffers.files[task].held = None;
        self.write_and_drain(task, block, 1)
    }

    /// Marks the buffer dirty. If its file has too many dirty buffers, schedules some of them to be written.
    pub(super) fn write_later(&mut self, task: usize, block: u64) {
        let (dirty, most) = (self.buffers.files[task].dirty, self.config.limits.dirtybufthresh);
        if dirty > most + FAR_BEYOND {
            self.tasks[task].sync = true;
        } else if dirty > most
            && let Some(first) = self.buffers.first_dirty(task)
        {
            self.account.file_flushes += 1;
            let cluster = self.buffers.cluster_around(task, first, self.config.cluster_blocks);
            self.tasks[task].pushes.push(cluster);
        }
        if self.buffers.state(task, block) != State::Dirty {
            self.buffers.set(task, block, State::Dirty);
            self.account.dirtied(self.buffers.dirty);
            self.call_daemon(self.config.limits.middle());
        }
        self.buffers.files[task].held = None;
    }

    /// Starts the task's pending writes, until too much is in flight.
    pub(super) fn push(&mut self, task: usize) -> bool {
        loop {
            let Some((start, blocks)) = self.tasks[task].pushes.pop() else {
                match self.buffers.first_dirty(task).filter(|_| self.tasks[task].sync) {
                    Some(first) => {
                        let cluster = self.buffers.cluster_around(task, first, self.config.cluster_blocks);
                        self.tasks[task].pushes.push(cluster);
                        continue;
                    }
                    None => break,
                }
            };
            let end = start + blocks;
            let Some(first) = (start..end).find(|block| self.buffers.flushable(task, *block)) else { continue };
            let mut next = first + 1;
            while next < end
                && next - first < self.config.cluster_blocks
                && self.buffers.flushable(task, next)
                && self.buffers.contiguous(task, next)
            {
                next += 1;
            }
            if next < end {
                self.tasks[task].pushes.push((next, end - next));
            }
            if !self.write_and_drain(task, first, next - first) {
                return false;
            }
        }
        let of = &mut self.tasks[task];
        of.sync = false;
        of.step = if of.left > 0 { Step::WriteBlock } else { Step::WriteDone };
        true
    }

    fn write_and_drain(&mut self, task: usize, start: u64, blocks: u64) -> bool {
        let before = self.running_bytes;
        self.start_write(task, start, blocks, self.tasks[task].tid);
        before <= self.config.limits.hirunningspace || self.wait(task, Reason::Running)
    }

    /// Starts a write of blocks that are contiguous on disk.
    pub(super) fn start_write(&mut self, file: usize, start: u64, blocks: u64, tid: u32) {
        for block in start..start + blocks {
            self.buffers.set(file, block, State::Writing);
        }
        self.account.write_started(blocks);
        self.running_bytes += blocks * self.config.block_bytes;
        self.start(file, start, blocks, true, tid);
        if self.buffers.dirty <= self.config.limits.lodirtybuffers {
            self.wake_all(|reason, _| reason == Reason::Dirty, None);
        }
    }

    pub(super) fn start_read(&mut self, file: usize, start: u64, blocks: u64) {
        self.start(file, start, blocks, false, self.tasks[file].tid);
    }

    fn start(&mut self, file: usize, block: u64, blocks: u64, write: bool, tid: u32) {
        let bytes = blocks * self.config.block_bytes;
        let transfer =
            Transfer { number: 0, file, block, blocks, write, tid, queued_ns: 0, issued_ns: 0, before: (0, 0) };
        let (place, done_ns) = self.device.start(transfer, bytes, self.agenda.now_ns());
        self.agenda.at(done_ns, Due::Done(place));
    }

    /// A transfer has completed: its buffers are clean and unlocked.
    pub(super) fn transferred(&mut self, place: usize) {
        let transfer = self.device.done(place);
        let (file, blocks) = (transfer.file, transfer.block..transfer.block + transfer.blocks);
        for block in blocks.clone() {
            self.buffers.set(file, block, State::Clean);
        }
        let bytes = transfer.blocks * self.config.block_bytes;
        self.account.transferred(self.agenda.now_ns(), bytes, transfer.write);
        let reported = self.report_request(&transfer, bytes);
        for task in 0..self.tasks.len() {
            let waits = match self.tasks[task].waiting.map(|waiting| waiting.reason) {
                Some(Reason::Block(block) | Reason::Help(block)) => task == file && blocks.contains(&block),
                Some(Reason::Space) => true,
                _ => false,
            };
            if waits {
                let request = reported.filter(|_| task == file);
                self.wake(task, None, request);
            }
        }
        if transfer.write {
            self.drained(bytes);
        }
    }

    /// Lowers runningbufspace; tasks that wait for it are woken when it falls to the lower limit.
    fn drained(&mut self, bytes: u64) {
        let low = self.config.limits.lorunningspace;
        let before = self.running_bytes;
        self.running_bytes -= bytes;
        if before >= low && self.running_bytes <= low {
            self.wake_all(|reason, _| reason == Reason::Running, None);
            if std::mem::take(&mut self.daemon.drains) {
                let wakeup_ns = self.wakeup_ns();
                self.daemon_after(wakeup_ns);
            }
        }
    }

    /// Reports a request if it was slow, and then returns its number.
    fn report_request(&mut self, transfer: &Transfer, bytes: u64) -> Option<u32> {
        let now_ns = self.agenda.now_ns();
        if now_ns - transfer.queued_ns < self.slow_ns {
            return None;
        }
        let (read, write) = (Kind::of(Operation::Read), Kind::of(Operation::Write));
        let before = [(read, transfer.before.0), (write, transfer.before.1)];
        self.observer.request(&RequestRecord {
            request: transfer.number,
            device: DeviceNumber::new(8, 0),
            sector: (transfer.file as u64 * self.config.file_blocks + transfer.block) * self.config.block_bytes / 512,
            bytes: bytes as u32,
            kind: if transfer.write { write } else { read },
            tid: transfer.tid,
            merges: (transfer.blocks - 1) as u32,
            queued_ns: Some(transfer.queued_ns),
            got_ns: Some(transfer.queued_ns),
            inserted_ns: None,
            issued_ns: Some(transfer.issued_ns),
            completed_ns: now_ns,
            errno: None,
            throttled: false,
            parts: None,
            in_flight: before.into_iter().filter(|(_, count)| *count > 0).collect(),
            overtaken_by: Vec::new(),
        });
        Some(transfer.number)
    }
}
