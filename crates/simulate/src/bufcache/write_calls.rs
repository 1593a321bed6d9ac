//! A write call: `vn_write()`, `ffs_write()`.

use super::buffers::{Lock, State};
use super::cluster::Full;
use super::engine::Engine;
use super::task::Step;
use super::wait::Reason;

impl Engine<'_> {
    /// `bwillwrite()`, and the lock.
    pub(super) fn write_lock(&mut self, task: usize) -> bool {
        let unlocked = matches!(self.buffers.files[task].lock, Lock::Free | Lock::Daemon);
        if unlocked && self.buffers.dirty >= self.config.limits.hidirtybuffers {
            self.call_daemon(1);
            return self.wait(task, Reason::Dirty);
        }
        if !self.lock(task, Lock::Exclusive) {
            return false;
        }
        let rest = self.config.file_blocks * self.config.block_bytes - self.tasks[task].offset;
        self.tasks[task].call = self.config.call_bytes.min(rest);
        self.tasks[task].left = self.tasks[task].call;
        self.tasks[task].step = Step::WriteBlock;
        true
    }

    /// Bytes of the call that fall into the current block.
    fn piece(&self, task: usize) -> u64 {
        let of = &self.tasks[task];
        of.left.min(self.config.block_bytes - of.offset % self.config.block_bytes)
    }

    pub(super) fn write_block(&mut self, task: usize) -> bool {
        let block = self.block(task);
        self.buffers.files[task].held = Some(block);
        match self.buffers.state(task, block) {
            State::Reading | State::Writing => return self.wait(task, Reason::Block(block)),
            State::Absent => {
                if !self.buffers.room() {
                    return self.need_space(task);
                }
                // The block has lost its buffer, but its pages are still in memory.
                self.buffers.set(task, block, State::Clean);
                self.tasks[task].fresh = true;
            }
            State::Clean | State::Dirty => {}
        }
        self.tasks[task].step = Step::Copied;
        let first = self.tasks[task].left == self.tasks[task].call;
        self.work(task, if first { self.config.op_ns } else { 0 }, self.piece(task))
    }

    /// Handles a filled buffer, as `ffs_write()` does.
    pub(super) fn copied(&mut self, task: usize) -> bool {
        let (block, piece) = (self.block(task), self.piece(task));
        let full = (self.tasks[task].offset + piece).is_multiple_of(self.config.block_bytes);
        self.tasks[task].offset += piece;
        self.tasks[task].left -= piece;
        self.tasks[task].step = Step::Push;
        if self.buffers.dirty >= self.config.limits.hidirtybuffers || (full && self.config.noclusterw) {
            return self.write_now(task, block);
        }
        let mut push = None;
        if full {
            let full = Full {
                block,
                contiguous: self.buffers.contiguous(task, block),
                at_end: self.config.dd || block + 1 == self.config.file_blocks,
                seqcount: self.tasks[task].seqcount,
            };
            let (most, ignore) = (self.config.cluster_blocks - 1, self.config.ignore_seqcount);
            let decision = self.buffers.files[task].cluster.write(full, most, ignore);
            if decision.now {
                return self.write_now(task, block);
            }
            push = decision.push;
        }
        self.write_later(task, block);
        self.tasks[task].pushes.extend(push);
        true
    }

    pub(super) fn write_done(&mut self, task: usize) -> bool {
        self.unlock(task);
        self.report_call(task, "write", self.tasks[task].call);
        let of = &mut self.tasks[task];
        if of.offset / self.config.block_bytes >= self.config.file_blocks {
            of.step = Step::Finished;
            self.finished += 1;
            return false;
        }
        of.step = if self.config.dd { Step::WriteStart } else { Step::ReadStart };
        self.pause(task, self.config.user_ns)
    }
}
