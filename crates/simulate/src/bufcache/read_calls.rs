//! A read call: `vn_read()`, `ffs_read()`, `cluster_read()`.

use super::buffers::{Lock, State};
use super::engine::Engine;
use super::task::Step;
use super::wait::Reason;

impl Engine<'_> {
    pub(super) fn read_block(&mut self, task: usize) -> bool {
        if !self.lock(task, Lock::Shared) {
            return false;
        }
        let block = self.block(task);
        self.buffers.files[task].held = Some(block);
        match self.buffers.state(task, block) {
            State::Reading | State::Writing => self.wait(task, Reason::Block(block)),
            State::Absent => {
                if !self.buffers.room() {
                    return self.need_space(task);
                }
                self.buffers.set(task, block, State::Reading);
                self.start_read(task, block, 1);
                self.read_ahead(task, block);
                self.tasks[task].fresh = true;
                self.wait(task, Reason::Block(block))
            }
            State::Clean | State::Dirty => {
                if self.tasks[task].offset.is_multiple_of(self.config.block_bytes) {
                    self.read_ahead(task, block);
                }
                self.tasks[task].step = Step::ReadDone;
                self.work(task, self.config.op_ns, self.config.call_bytes)
            }
        }
    }

    /// Starts reads of the following blocks, as many as the sequential count; none if there is no space.
    fn read_ahead(&mut self, task: usize, block: u64) {
        let most = self.tasks[task].seqcount.min(self.config.read_max);
        let end = (block + most).min(self.config.file_blocks);
        let ahead =
            (block + 1..end).take_while(|ahead| self.buffers.state(task, *ahead) != State::Absent).count() as u64;
        if ahead > most / 2 {
            return;
        }
        let mut next = block + 1 + ahead;
        while next < end {
            let first = next;
            while next < end
                && next - first < self.config.cluster_blocks
                && self.buffers.state(task, next) == State::Absent
                && (next == first || self.buffers.contiguous(task, next))
                && self.buffers.room()
            {
                self.buffers.set(task, next, State::Reading);
                next += 1;
            }
            if next == first {
                return;
            }
            self.start_read(task, first, next - first);
        }
    }

    pub(super) fn read_done(&mut self, task: usize) -> bool {
        self.unlock(task);
        self.report_call(task, "read", self.config.call_bytes);
        self.tasks[task].step = Step::WriteStart;
        self.pause(task, self.config.user_ns)
    }
}
