//! The processes: read, seek back, write; or write only.

use super::buffers::{Lock, State};
use super::cluster::Full;
use super::engine::{Due, Engine};
use super::heuristic::OpenFile;
use super::wait::{Reason, Waiting};
use crate::observer::Operation;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    ReadStart,
    ReadBlock,
    ReadDone,
    WriteStart,
    WriteLock,
    WriteBlock,
    Copied,
    /// It starts what is in `pushes`.
    Push,
    WriteDone,
    /// It flushes its own file to get space, and goes on with `after_help`.
    Help,
    Finished,
}

#[derive(Debug)]
pub(super) struct Task {
    pub(super) tid: u32,
    pub(super) step: Step,
    pub(super) offset: u64,
    /// For reads, and for writes; the same one where they share it.
    open: [OpenFile; 2],
    start_ns: u64,
    seqcount: u64,
    /// Bytes of the write call, and those that it has still to write.
    call: u64,
    left: u64,
    /// The block's buffer is new.
    fresh: bool,
    /// Blocks to write, in clusters: first and how many.
    pub(super) pushes: Vec<(u64, u64)>,
    /// All dirty blocks are to be written.
    pub(super) sync: bool,
    pub(super) help: u64,
    after_help: Step,
    pub(super) waiting: Option<Waiting>,
}

impl Task {
    /// The call that it is in.
    pub(super) fn unfinished(&self, end_ns: u64) -> Option<Operation> {
        let step = if self.step == Step::Help { self.after_help } else { self.step };
        let (class, bytes) = match step {
            Step::ReadStart | Step::WriteStart | Step::Finished => return None,
            Step::ReadBlock | Step::ReadDone => ("read", 0),
            _ => ("write", self.call - self.left),
        };
        Some(Operation { class, tid: self.tid, start_ns: self.start_ns, end_ns, bytes })
    }

    pub(super) fn left(&self) -> u64 {
        self.left
    }

    pub(super) fn new(tid: u32, dd: bool) -> Task {
        Task {
            tid,
            step: if dd { Step::WriteStart } else { Step::ReadStart },
            offset: 0,
            open: [OpenFile::new(), OpenFile::new()],
            start_ns: 0,
            seqcount: 0,
            call: 0,
            left: 0,
            fresh: false,
            pushes: Vec::new(),
            sync: false,
            help: 0,
            after_help: Step::Finished,
            waiting: None,
        }
    }
}

impl Engine<'_> {
    /// Goes on with a task until time has to pass.
    pub(super) fn task_step(&mut self, task: usize) {
        if self.tasks[task].waiting.is_some() {
            self.end_wait(task, Some(self.daemon_tid), None);
        }
        while self.one_step(task) {}
    }

    /// One step. False: time has to pass.
    fn one_step(&mut self, task: usize) -> bool {
        match self.tasks[task].step {
            Step::ReadStart => {
                self.tasks[task].start_ns = self.agenda.now_ns();
                self.tasks[task].fresh = false;
                self.tasks[task].step = Step::ReadBlock;
                true
            }
            Step::ReadBlock => self.read_block(task),
            Step::ReadDone => self.queue_free(task) && self.read_done(task),
            Step::WriteStart => {
                let of = &mut self.tasks[task];
                (of.call, of.left) = (0, 0);
                of.start_ns = self.agenda.now_ns();
                of.step = Step::WriteLock;
                true
            }
            Step::WriteLock => self.write_lock(task),
            Step::WriteBlock => self.write_block(task),
            Step::Copied => self.copied(task),
            Step::Push => self.push(task),
            Step::WriteDone => self.queue_free(task) && self.write_done(task),
            Step::Help => self.help(task),
            Step::Finished => false,
        }
    }

    pub(super) fn block(&self, task: usize) -> u64 {
        self.tasks[task].offset / self.config.block_bytes
    }

    /// Takes the vnode's lock, unless bufdaemon has it.
    fn lock(&mut self, task: usize, lock: Lock) -> bool {
        match self.buffers.files[task].lock {
            Lock::Daemon => {
                self.buffers.files[task].wanted = true;
                return self.wait(task, Reason::Vnode);
            }
            Lock::Free => {
                self.buffers.files[task].lock = lock;
                self.buffers.files[task].wanted = false;
                let (offset, bytes) = (self.tasks[task].offset, self.config.call_bytes);
                let separate = !self.config.shared_offset || self.config.per_direction;
                let which = usize::from(separate && lock == Lock::Exclusive);
                self.tasks[task].seqcount = self.tasks[task].open[which].access(offset, bytes);
            }
            Lock::Shared | Lock::Exclusive => {}
        }
        true
    }

    fn read_block(&mut self, task: usize) -> bool {
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

    /// Starts reads of the blocks behind, as many as the access looks sequential; none where there is no space.
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

    fn read_done(&mut self, task: usize) -> bool {
        self.unlock(task);
        self.tell(task, "read", self.config.call_bytes);
        self.tasks[task].step = Step::WriteStart;
        self.pause(task, self.config.user_ns)
    }

    /// `bwillwrite()`, and the lock.
    fn write_lock(&mut self, task: usize) -> bool {
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

    /// Bytes of the call that fall into its present block.
    fn piece(&self, task: usize) -> u64 {
        let of = &self.tasks[task];
        of.left.min(self.config.block_bytes - of.offset % self.config.block_bytes)
    }

    fn write_block(&mut self, task: usize) -> bool {
        let block = self.block(task);
        self.buffers.files[task].held = Some(block);
        match self.buffers.state(task, block) {
            State::Reading | State::Writing => return self.wait(task, Reason::Block(block)),
            State::Absent => {
                if !self.buffers.room() {
                    return self.need_space(task);
                }
                // A rewriter's block has lost its buffer, but its pages are still in memory.
                self.buffers.set(task, block, State::Clean);
                self.tasks[task].fresh = true;
            }
            State::Clean | State::Dirty => {}
        }
        self.tasks[task].step = Step::Copied;
        let first = self.tasks[task].left == self.tasks[task].call;
        self.work(task, if first { self.config.op_ns } else { 0 }, self.piece(task))
    }

    /// What `ffs_write()` does with a buffer that it has filled.
    fn copied(&mut self, task: usize) -> bool {
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

    fn write_done(&mut self, task: usize) -> bool {
        self.unlock(task);
        self.tell(task, "write", self.tasks[task].call);
        let of = &mut self.tasks[task];
        if of.offset / self.config.block_bytes >= self.config.file_blocks {
            of.step = Step::Finished;
            self.finished += 1;
            return false;
        }
        of.step = if self.config.dd { Step::WriteStart } else { Step::ReadStart };
        self.pause(task, self.config.user_ns)
    }

    /// No buffer can be had: calls for help, and helps where that is allowed.
    fn need_space(&mut self, task: usize) -> bool {
        self.hurry_daemon();
        let may_flush = self.buffers.files[task].lock == Lock::Exclusive || self.config.helper_upgrades;
        if !may_flush || self.buffers.first_dirty(task).is_none() {
            return self.wait(task, Reason::Space);
        }
        let of = &mut self.tasks[task];
        of.after_help = of.step;
        of.step = Step::Help;
        of.help = 100;
        true
    }

    /// Writes one dirty block of its file, and waits until that is done; 100 times.
    fn help(&mut self, task: usize) -> bool {
        let block = self.buffers.first_dirty(task).filter(|_| self.tasks[task].help > 0);
        let Some(block) = block else {
            self.tasks[task].step = self.tasks[task].after_help;
            return true;
        };
        self.tasks[task].help -= 1;
        self.account.helper_flushes += 1;
        self.start_write(task, block, 1, self.tasks[task].tid);
        self.wait(task, Reason::Help(block))
    }

    /// The buffer queues' lock is needed to let go of a buffer.
    fn queue_free(&mut self, task: usize) -> bool {
        if self.agenda.now_ns() >= self.queue_locked_until_ns {
            return true;
        }
        self.agenda.at(self.queue_locked_until_ns, Due::Task(task));
        self.wait(task, Reason::Queue)
    }

    fn unlock(&mut self, task: usize) {
        self.buffers.files[task].lock = Lock::Free;
        self.buffers.files[task].held = None;
    }

    /// Works on a block's bytes.
    fn work(&mut self, task: usize, ns: u64, bytes: u64) -> bool {
        let fresh = std::mem::take(&mut self.tasks[task].fresh);
        let block_ns = if fresh { self.config.block_ns } else { 0 };
        self.pause(task, ns + block_ns + self.config.copy_ns(bytes))
    }

    fn pause(&mut self, task: usize, ns: u64) -> bool {
        self.agenda.after(ns, Due::Task(task));
        false
    }

    fn tell(&mut self, task: usize, class: &'static str, bytes: u64) {
        let of = &self.tasks[task];
        let end_ns = self.agenda.now_ns();
        if class == "write" {
            self.account.written(end_ns, bytes);
        }
        self.observer.operation(Operation { class, tid: of.tid, start_ns: of.start_ns, end_ns, bytes });
    }
}
