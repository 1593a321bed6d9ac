//! The processes: read, seek back, write; or write only.

use super::buffers::Lock;
use super::engine::{Due, Engine};
use super::task::Step;
use super::wait::Reason;
use crate::observer::Operation;

impl Engine<'_> {
    /// Runs a task until time has to pass.
    pub(super) fn task_step(&mut self, task: usize) {
        if self.tasks[task].waiting.is_some() {
            self.end_wait(task, Some(self.daemon_tid), None);
        }
        while self.one_step(task) {}
    }

    /// Runs one step. False: time has to pass.
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

    /// Takes the vnode's lock, unless bufdaemon holds it.
    pub(super) fn lock(&mut self, task: usize, lock: Lock) -> bool {
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

    /// No buffer is available: requests bufdaemon, and flushes where that is allowed.
    pub(super) fn need_space(&mut self, task: usize) -> bool {
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

    /// Writes one dirty block of its file and waits for it, 100 times.
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

    /// Releasing a buffer needs the lock of the buffer queues.
    pub(super) fn queue_free(&mut self, task: usize) -> bool {
        if self.agenda.now_ns() >= self.queue_locked_until_ns {
            return true;
        }
        self.agenda.at(self.queue_locked_until_ns, Due::Task(task));
        self.wait(task, Reason::Queue)
    }

    pub(super) fn unlock(&mut self, task: usize) {
        self.buffers.files[task].lock = Lock::Free;
        self.buffers.files[task].held = None;
    }

    /// Uses CPU time for a block's bytes.
    pub(super) fn work(&mut self, task: usize, ns: u64, bytes: u64) -> bool {
        let fresh = std::mem::take(&mut self.tasks[task].fresh);
        let block_ns = if fresh { self.config.block_ns } else { 0 };
        self.pause(task, ns + block_ns + self.config.copy_ns(bytes))
    }

    pub(super) fn pause(&mut self, task: usize, ns: u64) -> bool {
        self.agenda.after(ns, Due::Task(task));
        false
    }

    pub(super) fn report_call(&mut self, task: usize, class: &'static str, bytes: u64) {
        let of = &self.tasks[task];
        let end_ns = self.agenda.now_ns();
        if class == "write" {
            self.account.written(end_ns, bytes);
        }
        self.observer.operation(Operation { class, tid: of.tid, start_ns: of.start_ns, end_ns, bytes });
    }
}
