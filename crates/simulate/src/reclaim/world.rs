//! The whole state, and the event loop.

use model::event::WARMUP_PHASE;

use super::disk::{Purpose, Request, service_ns};
use super::inodes::FileSystem;
use super::memory::Memory;
use super::parameters::Setup;
use super::pusher::Daemon;
use super::space::AddressSpace;
use super::tally::Tally;
use super::task::{Body, Task};
use super::waits::Await;
use crate::agenda::Agenda;
use crate::liveness::Hang;
use crate::observer::{Observer, Wait};
use crate::random::Random;

/// A due event.
#[derive(Debug, Clone, Copy)]
pub(super) enum Due {
    /// A task continues, if it is still in the stay with this number.
    Resume(u32, u32),
    /// A disk completes its request.
    Disk(u8),
    /// Forces the log of a file system, and pushes its AIL.
    LogTimer(u8),
    /// Looks for expired dirty pages.
    WritebackTimer,
    /// Reports a sample.
    Sample,
    /// Checks for a hang.
    HangCheck,
    /// The warm-up has ended.
    Measure,
    /// The run ends.
    End,
}

/// Time without progress that counts as a hang: the kernel's hung_task_timeout_secs.
const HUNG_NS: u64 = 120_000_000_000;
const HANG_CHECK_NS: u64 = 10_000_000_000;
const WRITEBACK_NS: u64 = 5_000_000_000;

pub(super) struct World<'a> {
    pub(super) setup: Setup,
    pub(super) agenda: Agenda<Due>,
    pub(super) random: Random,
    pub(super) memory: Memory,
    pub(super) space: AddressSpace,
    pub(super) systems: Vec<FileSystem>,
    /// By tid, which begins at 1.
    pub(super) tasks: Vec<Task>,
    pub(super) idle_kswapds: Vec<u32>,
    pub(super) daemons: Vec<Daemon>,
    pub(super) tally: Tally,
    pub(super) observer: &'a mut dyn Observer,
    slow_ns: u64,
    on_cpu: u64,
    requests: u32,
    /// Progress so far.
    pub(super) moved: u64,
    seen: (u64, u64),
    handed: Vec<u32>,
    pub(super) dropped: Vec<u32>,
}

impl<'a> World<'a> {
    pub(super) fn new(setup: Setup, seed: u64, observer: &'a mut dyn Observer) -> World<'a> {
        let system = |_| FileSystem::new(setup.groups, setup.files);
        let slow_ns = observer.slow_ns();
        let mut world = World {
            agenda: Agenda::new(),
            random: Random::new(seed),
            memory: Memory::new(setup.memory_pages, setup.min_pages, setup.gap_pages),
            space: AddressSpace::default(),
            systems: (0..setup.file_systems).map(system).collect(),
            tasks: Vec::new(),
            idle_kswapds: Vec::new(),
            daemons: Vec::new(),
            tally: Tally::default(),
            observer,
            slow_ns,
            on_cpu: setup.burners,
            requests: 0,
            moved: 0,
            seen: (0, 0),
            handed: Vec::new(),
            dropped: Vec::new(),
            setup,
        };
        world.populate();
        world
    }

    /// Runs to the end, or until a hang.
    pub(super) fn run(&mut self) -> Option<Hang> {
        let every_ns = self.observer.sample_every_ns().max(1_000_000);
        self.observer.phase(WARMUP_PHASE, false, 0);
        self.agenda.at(self.setup.warmup_ns, Due::Measure);
        self.agenda.at(self.setup.ends_ns(), Due::End);
        self.agenda.after(HANG_CHECK_NS, Due::HangCheck);
        self.agenda.after(WRITEBACK_NS, Due::WritebackTimer);
        self.agenda.at(0, Due::Sample);
        for fs in 0..self.systems.len() as u8 {
            let first_ns = self.random.below(self.setup.log_period_ns);
            self.agenda.after(first_ns, Due::LogTimer(fs));
        }
        let mut hang = None;
        while let Some(due) = self.agenda.next_due() {
            match due {
                Due::End => break,
                Due::HangCheck => {
                    hang = self.check_hang();
                    self.agenda.after(HANG_CHECK_NS, Due::HangCheck);
                }
                Due::Sample => {
                    self.sample();
                    self.agenda.after(every_ns, Due::Sample);
                }
                other => self.handle(other),
            }
            if hang.is_some() {
                break;
            }
        }
        self.report_open_waits();
        hang
    }

    /// Handles an event other than those of the loop itself.
    fn handle(&mut self, due: Due) {
        match due {
            Due::Resume(tid, stay) => self.resume(tid, stay),
            Due::Disk(fs) => self.disk_done(fs),
            Due::LogTimer(fs) => {
                self.force_log(fs);
                self.push_all(fs);
                self.agenda.after(self.setup.log_period_ns, Due::LogTimer(fs));
            }
            Due::WritebackTimer => {
                for fs in 0..self.systems.len() as u8 {
                    self.write_back(fs, false);
                }
                self.agenda.after(WRITEBACK_NS, Due::WritebackTimer);
            }
            Due::Measure => self.measure(),
            Due::Sample | Due::HangCheck | Due::End => unreachable!("the loop handles {due:?}"),
        }
    }

    pub(super) fn now_ns(&self) -> u64 {
        self.agenda.now_ns()
    }

    pub(super) fn task(&mut self, tid: u32) -> &mut Task {
        &mut self.tasks[tid as usize - 1]
    }

    fn resume(&mut self, tid: u32, stay: u32) {
        let task = self.task(tid);
        if task.stay != stay {
            return;
        }
        task.stay += 1;
        let was_on_cpu = std::mem::take(&mut task.on_cpu);
        let waited = task.waits.take();
        if was_on_cpu {
            self.on_cpu -= 1;
        }
        if let Some((for_what, since_ns)) = waited {
            self.forget_waiter(tid, for_what);
            self.report_wait(tid, for_what, since_ns, None, None);
        }
        self.run_task(tid);
    }

    /// Runs a task until it waits or uses CPU time.
    fn run_task(&mut self, tid: u32) {
        loop {
            if self.task(tid).reclaim.is_some() && !self.reclaim(tid) {
                return;
            }
            if self.task(tid).need > 0 && !self.get_pages(tid) {
                continue;
            }
            let more = match self.task(tid).body {
                Body::Worker(_) => self.work(tid),
                Body::Io(_) => self.io_thread(tid),
                Body::Du(_) => self.walk_tree(tid),
                Body::Kswapd => self.kswapd(tid),
                Body::Pusher(_) => self.push_ail(tid),
                Body::Background(..) => self.reclaim_in_background(tid),
                Body::Flusher => false,
            };
            if !more {
                return;
            }
        }
    }

    /// The task uses this much CPU time; it takes longer if more tasks than CPUs run.
    pub(super) fn cpu(&mut self, tid: u32, ns: u64) {
        self.on_cpu += 1;
        let ns = ns * self.on_cpu.max(self.setup.cpus) / self.setup.cpus;
        let task = self.task(tid);
        task.on_cpu = true;
        let stay = task.stay;
        self.agenda.after(ns.max(1), Due::Resume(tid, stay));
    }

    /// The task waits until it is woken.
    pub(super) fn wait(&mut self, tid: u32, for_what: Await) {
        let now_ns = self.now_ns();
        self.task(tid).waits = Some((for_what, now_ns));
    }

    /// The task waits until it is woken, at most this long.
    pub(super) fn wait_at_most(&mut self, tid: u32, for_what: Await, ns: u64) {
        self.wait(tid, for_what);
        let stay = self.task(tid).stay;
        self.agenda.after(ns, Due::Resume(tid, stay));
    }

    /// Ends the task's wait.
    pub(super) fn wake(&mut self, tid: u32, waker: Option<u32>, request: Option<u32>) {
        let Some((for_what, since_ns)) = self.task(tid).waits.take() else { return };
        self.report_wait(tid, for_what, since_ns, waker, request);
        let busy = self.on_cpu >= self.setup.cpus && self.setup.wakeup_ns > 0;
        let delay_ns = if busy { self.random.below(2 * self.setup.wakeup_ns) } else { 0 };
        let task = self.task(tid);
        task.stay += 1;
        let stay = task.stay;
        self.agenda.after(delay_ns, Due::Resume(tid, stay));
    }

    fn report_wait(&mut self, tid: u32, for_what: Await, since_ns: u64, waker_tid: Option<u32>, request: Option<u32>) {
        let end_ns = self.now_ns();
        if end_ns - since_ns < self.slow_ns || for_what == Await::Work {
            return;
        }
        let frames = self.frames(tid, for_what);
        self.observer.wait(&Wait { tid, start_ns: since_ns, end_ns, frames, waker_tid, request });
    }

    fn report_open_waits(&mut self) {
        for tid in 1..=self.tasks.len() as u32 {
            if let Some((for_what, since_ns)) = self.task(tid).waits {
                self.report_wait(tid, for_what, since_ns, None, None);
            }
        }
    }

    /// Takes mmap_sem for the task. `false`: it waits.
    pub(super) fn hold_space(&mut self, tid: u32, write: bool) -> bool {
        if self.task(tid).holds {
            return true;
        }
        if self.space.take(tid, write) {
            self.task(tid).holds = true;
            return true;
        }
        self.wait(tid, Await::Space);
        false
    }

    pub(super) fn release_space(&mut self, tid: u32) {
        self.task(tid).holds = false;
        let mut handed = std::mem::take(&mut self.handed);
        self.space.release(tid, &mut handed);
        for next in handed.drain(..) {
            self.task(next).holds = true;
            self.wake(next, Some(tid), None);
        }
        self.handed = handed;
    }

    /// Submits a request to the disk of a file system.
    pub(super) fn submit(&mut self, fs: u8, tid: u32, what: Purpose, pages: u32, sync: bool) -> u32 {
        self.requests += 1;
        let (number, queued_ns) = (self.requests, self.now_ns());
        let request = Request { what, tid, pages, sync, number, queued_ns, issued_ns: 0 };
        self.systems[usize::from(fs)].disk.put(request);
        self.begin_request(fs);
        number
    }

    pub(super) fn begin_request(&mut self, fs: u8) {
        let now_ns = self.now_ns();
        if let Some(request) = self.systems[usize::from(fs)].disk.begin(now_ns) {
            let transfer_ns = u64::from(request.pages) * self.setup.page_transfer_ns;
            let ns = service_ns(&mut self.random, self.setup.seek_ns, transfer_ns);
            self.agenda.after(ns, Due::Disk(fs));
        }
    }

    fn disk_done(&mut self, fs: u8) {
        let Some(request) = self.systems[usize::from(fs)].disk.end() else { return };
        self.moved += 1;
        if self.now_ns() - request.queued_ns >= self.slow_ns {
            self.report_request(fs, &request);
        }
        self.completed(fs, &request);
        self.begin_request(fs);
    }

    /// A hang, if nothing has progressed for too long.
    fn check_hang(&mut self) -> Option<Hang> {
        debug_assert!(self.adds_up());
        let now_ns = self.now_ns();
        if self.seen.0 != self.moved {
            self.seen = (self.moved, now_ns);
        }
        (now_ns - self.seen.1 >= HUNG_NS).then(|| Hang { at_ns: self.seen.1, waiters: self.waiters() })
    }

    /// Whether all pages and inodes are accounted for exactly once.
    pub(super) fn adds_up(&self) -> bool {
        let held: u64 = self.tasks.iter().map(|task| task.pages).sum();
        self.memory.adds_up(held) && self.systems.iter().all(FileSystem::adds_up)
    }
}
