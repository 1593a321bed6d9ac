//! The state of the model, the event loop, and what is reported to the observer.

use model::metric::{Semantics, Unit};

use super::account::Account;
use super::buffers::{Buffers, Lock};
use super::config::Config;
use super::daemon::Daemon;
use super::device::Device;
use super::task::{Step, Task};
use super::wait::{Reason, Waiting};
use crate::agenda::Agenda;
use crate::liveness::{Hang, Waiter};
use crate::observer::{Metric, Observer, Wait};
use crate::policy::Outcome;
use crate::random::Random;

/// A due event.
#[derive(Debug, Clone, Copy)]
pub(super) enum Due {
    /// A task continues.
    Task(usize),
    /// A transfer completes.
    Done(usize),
    /// bufdaemon continues, if the appointment is still valid.
    Daemon(u64),
}

/// Simulated time after a hang in which nothing happens.
const WATCH_NS: u64 = 5_000_000_000;

const fn metric(name: &'static str, unit: Unit, semantics: Semantics) -> Metric {
    Metric { name, instance: "", unit, semantics }
}

const METRICS: &[Metric] = &[
    metric("bufcache.numdirtybuffers", Unit::Count, Semantics::Gauge),
    metric("bufcache.hidirtybuffers", Unit::Count, Semantics::Gauge),
    metric("bufcache.lodirtybuffers", Unit::Count, Semantics::Gauge),
    metric("bufcache.dirtybufthresh", Unit::Count, Semantics::Gauge),
    metric("bufcache.bufspace", Unit::Bytes, Semantics::Gauge),
    metric("bufcache.hibufspace", Unit::Bytes, Semantics::Gauge),
    metric("bufcache.runningbufspace", Unit::Bytes, Semantics::Gauge),
    metric("bufcache.bufdaemon_flushes", Unit::Count, Semantics::Counter),
    metric("bufcache.dirtybufferflushes", Unit::Count, Semantics::Counter),
    metric("bufcache.notbufdflushes", Unit::Count, Semantics::Counter),
    metric("bufcache.bytes_written_by_calls", Unit::Bytes, Semantics::Counter),
    metric("device.bytes_read", Unit::Bytes, Semantics::Counter),
    metric("device.bytes_written", Unit::Bytes, Semantics::Counter),
];

const FIRST_TID: u32 = 101;
const DAEMON_TID: u32 = 20;

pub(super) struct Engine<'o> {
    pub(super) config: Config,
    pub(super) agenda: Agenda<Due>,
    pub(super) buffers: Buffers,
    pub(super) device: Device,
    pub(super) tasks: Vec<Task>,
    pub(super) daemon: Daemon,
    pub(super) daemon_tid: u32,
    pub(super) account: Account,
    pub(super) observer: &'o mut dyn Observer,
    pub(super) slow_ns: u64,
    /// runningbufspace.
    pub(super) running_bytes: u64,
    /// bufdaemon scans the queue of dirty buffers until then.
    pub(super) queue_locked_until_ns: u64,
    pub(super) finished: usize,
    pub(super) hangs: bool,
    /// The end of the run, once it is known.
    pub(super) ended_ns: Option<u64>,
    random: Random,
    next_sample_ns: u64,
    sample_every_ns: u64,
}

impl<'o> Engine<'o> {
    pub(super) fn new(config: Config, seed: u64, observer: &'o mut dyn Observer) -> Engine<'o> {
        let mut random = Random::new(seed);
        let layout = random.number();
        Engine {
            agenda: Agenda::new(),
            buffers: Buffers::new(config.processes, config.file_blocks, config.capacity, config.breaks, layout),
            device: Device::new(config.device.clone(), Random::new(random.number())),
            tasks: (0..config.processes).map(|number| Task::new(FIRST_TID + number as u32, config.dd)).collect(),
            daemon: Daemon::new(),
            daemon_tid: DAEMON_TID,
            account: Account::default(),
            slow_ns: observer.slow_ns(),
            running_bytes: 0,
            queue_locked_until_ns: 0,
            finished: 0,
            hangs: false,
            ended_ns: None,
            random,
            next_sample_ns: 0,
            sample_every_ns: observer.sample_every_ns().max(1),
            observer,
            config,
        }
    }

    pub(super) fn run(mut self) -> Outcome {
        self.observer.metrics(METRICS);
        self.observer.task(DAEMON_TID, "bufdaemon");
        for task in 0..self.tasks.len() {
            self.observer.task(self.tasks[task].tid, &self.name(task));
            self.agenda.at(task as u64 * 1000, Due::Task(task));
        }
        self.observer.phase(if self.config.dd { "write" } else { "rewrite" }, true, 0);
        self.daemon_after(0);
        let ended_ns = self.run_events();
        let hang = self.hangs.then(|| self.hang());
        self.sample_until(ended_ns);
        self.ended_ns = Some(ended_ns);
        self.end_rest();
        for task in 0..self.tasks.len() {
            self.report_wait(task, ended_ns, None, None);
        }
        for task in &self.tasks {
            if let Some(operation) = task.unfinished(ended_ns) {
                self.observer.unfinished(operation);
            }
        }
        #[cfg(test)]
        self.buffers.check();
        Outcome {
            ended_ns,
            events: self.agenda.events(),
            figures: self.account.figures(&self.config, &self.buffers, ended_ns, hang.as_ref()),
            histograms: self.account.histograms(),
            hang,
        }
    }

    /// Handles events until the runtime is over, all tasks have finished, or nothing will ever happen again. Returns
    /// that time.
    fn run_events(&mut self) -> u64 {
        let runtime_ns = self.config.runtime_ns;
        while let Some(due) = self.agenda.next_due() {
            let now_ns = self.agenda.now_ns();
            if now_ns > runtime_ns {
                break;
            }
            if now_ns >= self.next_sample_ns {
                self.sample_until(now_ns);
            }
            match due {
                Due::Task(task) => self.task_step(task),
                Due::Done(place) => self.transferred(place),
                Due::Daemon(appointment) => self.daemon_step(appointment),
            }
            if self.hangs {
                return (now_ns + WATCH_NS).min(runtime_ns);
            }
            if self.finished == self.tasks.len() {
                return now_ns;
            }
        }
        runtime_ns
    }

    fn name(&self, task: usize) -> String {
        if self.config.dd { "dd".to_owned() } else { format!("rewriter {}", task + 1) }
    }

    /// Puts the task to sleep. Always false: time has to pass.
    pub(super) fn wait(&mut self, task: usize, reason: Reason) -> bool {
        self.tasks[task].waiting = Some(Waiting { reason, since_ns: self.agenda.now_ns() });
        false
    }

    /// Ends the task's wait; it runs a little later.
    pub(super) fn wake(&mut self, task: usize, waker: Option<u32>, request: Option<u32>) {
        self.end_wait(task, waker, request);
        let wakeup_ns = self.wakeup_ns();
        self.agenda.after(wakeup_ns, Due::Task(task));
    }

    /// Time from a wakeup to running.
    pub(super) fn wakeup_ns(&mut self) -> u64 {
        self.config.wakeup.draw_ns(&mut self.random)
    }

    /// Wakes the tasks that `which` selects by their reason and file.
    pub(super) fn wake_all(&mut self, which: impl Fn(Reason, usize) -> bool, waker: Option<u32>) {
        for task in 0..self.tasks.len() {
            if self.tasks[task].waiting.is_some_and(|waiting| which(waiting.reason, task)) {
                self.wake(task, waker, None);
            }
        }
    }

    pub(super) fn end_wait(&mut self, task: usize, waker: Option<u32>, request: Option<u32>) {
        self.report_wait(task, self.agenda.now_ns(), waker, request);
        self.tasks[task].waiting = None;
    }

    fn report_wait(&mut self, task: usize, end_ns: u64, waker_tid: Option<u32>, request: Option<u32>) {
        let Some(Waiting { reason, since_ns }) = self.tasks[task].waiting else { return };
        self.account.waited(reason, end_ns - since_ns);
        if end_ns - since_ns >= self.slow_ns {
            let (tid, frames) = (self.tasks[task].tid, reason.frames(self.buffers.files[task].lock));
            self.observer.wait(&Wait { tid, start_ns: since_ns, end_ns, frames, waker_tid, request });
        }
    }

    /// Reports the samples that are due by then.
    fn sample_until(&mut self, until_ns: u64) {
        while self.next_sample_ns <= until_ns {
            let limits = &self.config.limits;
            let values = [
                self.buffers.dirty,
                limits.hidirtybuffers,
                limits.lodirtybuffers,
                limits.dirtybufthresh,
                self.buffers.used * self.config.block_bytes,
                limits.hibufspace,
                self.running_bytes,
                self.account.daemon_flushes,
                self.account.file_flushes,
                self.account.helper_flushes,
                self.account.call_bytes,
                self.account.read_bytes,
                self.account.write_bytes,
            ];
            self.observer.sample(self.next_sample_ns, &values.map(|value| Some(value as i64)));
            self.next_sample_ns += self.sample_every_ns;
        }
    }

    /// Which task waits for which.
    fn hang(&self) -> Hang {
        let waits = |task: &Task| task.waiting.map(|waiting| (waiting.reason, waiting.since_ns));
        let mut waiters: Vec<Waiter> = Vec::new();
        for (number, task) in self.tasks.iter().enumerate() {
            let Some((reason, since_ns)) = waits(task) else { continue };
            let awaits = reason.awaits(self.buffers.files[number].lock).to_owned();
            waiters.push(Waiter { task: self.name(number), awaits, from: vec!["bufdaemon".to_owned()], since_ns });
        }
        let at_ns = waiters.iter().map(|waiter| waiter.since_ns).max().unwrap_or(self.agenda.now_ns());
        let holds = |number: &usize| {
            let file = &self.buffers.files[*number];
            file.dirty > 0 && file.lock != Lock::Free && self.tasks[*number].step != Step::Finished
        };
        let from = (0..self.tasks.len()).filter(holds).map(|number| self.name(number)).collect();
        let awaits = "the lock of a vnode with dirty buffers (flushbufqueues, retried ten times a second)".to_owned();
        waiters.push(Waiter { task: "bufdaemon".to_owned(), awaits, from, since_ns: at_ns });
        Hang { at_ns, waiters }
    }
}
