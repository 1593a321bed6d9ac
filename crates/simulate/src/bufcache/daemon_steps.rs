//! bufdaemon: `buf_daemon()`, `flushbufqueues()`, `bd_wakeup()`, `bd_speedup()`.

use super::buffers::Lock;
use super::daemon::Step;
use super::engine::{Due, Engine};
use super::wait::Reason;
use crate::observer::Wait;

/// How long it sleeps when few buffers are dirty, and when it could flush nothing.
const IDLE_NS: u64 = 1_000_000_000;
const RETRY_NS: u64 = 100_000_000;

/// The stacks that it rests in.
const RETRIES: &[&str] = &["mi_switch", "sleepq_switch", "sleepq_timedwait", "_sleep", "buf_daemon", "fork_exit"];
const DRAINS: &[&str] =
    &["mi_switch", "sleepq_switch", "sleepq_wait", "_sleep", "waitrunningbufspace", "flushbufqueues", "buf_daemon"];

impl Engine<'_> {
    /// bufdaemon continues after `delay_ns`, and not before.
    pub(super) fn daemon_after(&mut self, delay_ns: u64) {
        self.daemon.appointment += 1;
        self.agenda.after(delay_ns, Due::Daemon(self.daemon.appointment));
    }

    /// A buffer became dirty, or a task waits for clean ones.
    pub(super) fn call_daemon(&mut self, from_dirty: u64) {
        if !self.daemon.request && self.buffers.dirty >= from_dirty {
            self.daemon.request = true;
            self.wake_daemon();
        }
    }

    /// Space is needed.
    pub(super) fn hurry_daemon(&mut self) {
        let called = self.daemon.speedup && self.daemon.request;
        self.daemon.speedup = true;
        self.daemon.request = true;
        if !called {
            self.wake_daemon();
        }
    }

    fn wake_daemon(&mut self) {
        // If it is not asleep, the wakeup is lost: it will sleep its full time, and nothing wakes it before.
        if self.daemon.asleep {
            self.daemon.asleep = false;
            let wakeup_ns = self.wakeup_ns();
            self.daemon_after(wakeup_ns);
        }
    }

    pub(super) fn daemon_step(&mut self, appointment: u64) {
        if appointment != self.daemon.appointment {
            return;
        }
        self.daemon.asleep = false;
        self.end_rest();
        loop {
            match self.daemon.step {
                Step::Top => {
                    self.daemon.request = false;
                    self.daemon.low = self.config.limits.lodirtybuffers;
                    if std::mem::take(&mut self.daemon.speedup) {
                        self.daemon.low = self.buffers.dirty / 2;
                    }
                    self.daemon.flushed = 0;
                    self.daemon.step = Step::Check;
                }
                Step::Check if self.buffers.dirty > self.daemon.low => {
                    self.daemon.target = self.buffers.dirty - self.daemon.low;
                    self.daemon.flushed = 0;
                    self.daemon.step = Step::Scan;
                }
                Step::Check => self.daemon.step = Step::Sleep,
                Step::Scan if self.daemon.flushed == self.daemon.target => self.daemon.step = Step::Check,
                Step::Scan => return self.scan(),
                Step::Started(file) => {
                    self.started(file);
                    if self.daemon.drains {
                        self.daemon.rests_ns = Some(self.agenda.now_ns());
                        return;
                    }
                }
                Step::Sleep => return self.sleep(),
            }
        }
    }

    /// Starts a write of a file whose vnode is not locked; skips the buffers of the others.
    fn scan(&mut self) {
        let free = |file: &usize| {
            let file = &self.buffers.files[*file];
            file.lock == Lock::Free && file.dirty > 0 && (self.config.barging || !file.wanted)
        };
        let files = self.buffers.files.len();
        let file = (0..files).map(|file| (file + self.daemon.flushed as usize) % files).find(free);
        if let Some((file, block)) = file.and_then(|file| Some((file, self.buffers.first_dirty(file)?))) {
            self.buffers.files[file].lock = Lock::Daemon;
            let (start, blocks) = self.buffers.cluster_around(file, block, self.config.cluster_blocks);
            self.account.daemon_flushes += 1;
            self.start_write(file, start, blocks, self.daemon_tid);
            self.daemon.step = Step::Started(file);
            self.daemon_after(self.config.flush_ns);
            return;
        }
        // If it flushed nothing, it scans the queue a second time, for buffers with dependencies. It holds the queue's
        // lock during both scans.
        let nothing = self.daemon.flushed == 0;
        let passes = if nothing { 2 } else { 1 };
        let scan_ns = passes * self.buffers.dirty * self.config.scan_ns;
        self.queue_locked_until_ns = self.agenda.now_ns() + scan_ns;
        self.daemon.step = if nothing { Step::Sleep } else { Step::Check };
        self.daemon_after(scan_ns);
    }

    fn started(&mut self, file: usize) {
        self.buffers.files[file].lock = Lock::Free;
        self.daemon.flushed += 1;
        self.daemon.step = Step::Scan;
        self.wake_all(|reason, of| reason == Reason::Vnode && of == file, Some(self.daemon_tid));
        if self.buffers.dirty <= self.config.limits.middle() {
            self.wake_all(|reason, _| reason == Reason::Dirty, Some(self.daemon_tid));
        }
        self.daemon.drains = self.running_bytes > self.config.limits.hirunningspace;
    }

    fn sleep(&mut self) {
        let enough = self.buffers.dirty <= self.config.limits.lodirtybuffers;
        if enough {
            self.daemon.request = false;
        }
        if self.daemon.flushed == 0 && !self.daemon.speedup && self.agenda.is_empty() {
            // Nothing is in flight, no task runs, and the next round will find what this one found.
            self.hangs = self.tasks.iter().any(|task| task.waiting.is_some());
        }
        self.daemon.asleep = true;
        self.daemon.step = Step::Top;
        // An idle rest is not reported.
        self.daemon.rests_ns = (!enough).then_some(self.agenda.now_ns());
        self.daemon_after(if enough { IDLE_NS } else { RETRY_NS });
    }

    /// Reports a rest that has ended, or is still in progress at the end of the run.
    pub(super) fn end_rest(&mut self) {
        let Some(start_ns) = self.daemon.rests_ns.take() else { return };
        let end_ns = self.ended_ns.unwrap_or(self.agenda.now_ns());
        if end_ns - start_ns >= self.slow_ns {
            let frames = if self.daemon.step == Step::Top { RETRIES } else { DRAINS };
            let tid = self.daemon_tid;
            self.observer.wait(&Wait { tid, start_ns, end_ns, frames, waker_tid: None, request: None });
        }
    }
}
