//! The tracer thread: polls the kernel's ring and hands rows to the archive.
//!
//! It never blocks: rows that the archive is too slow for are dropped and counted. Stacks, tasks and aggregates are
//! emitted only once, and are few: they wait until there is room.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use model::event::RunEvent;
use model::stall::Traced;
use record::{BlockedNow, TraceCost, Tracing, clock};

use crate::recording::rotation::Rotation;
use crate::recording::row::Row;
use crate::recording::tap::Tap;
use crate::recording::trace_queue::{TraceQueue, weight};

/// Poll interval of the ring while events arrive.
const POLL_EVERY: Duration = Duration::from_millis(20);
/// Poll interval after a while without events: an idle machine stays idle.
const POLL_IDLE_EVERY: Duration = Duration::from_millis(100);
/// Interval of aggregates, and of polls of blocked tasks.
const INTERVAL: Duration = Duration::from_secs(1);
/// Interval of reports of the tracing cost.
const COST_EVERY: Duration = Duration::from_secs(60);
/// Interval of reports of losses, if there are any.
const LOSSES_EVERY: Duration = Duration::from_secs(10);
/// Rows are batched for this long on their way to the archive.
const HAND_ON_EVERY: Duration = Duration::from_millis(250);
/// A batch this large is handed on at once.
const HAND_ON_BYTES: usize = 1 << 20;

/// The tasks that are blocked now, as the tracer saw them last.
#[derive(Debug, Default, Clone)]
pub struct BlockedTasks(Arc<Mutex<Vec<BlockedNow>>>);

impl BlockedTasks {
    /// The blocked tasks, longest first.
    pub fn now(&self) -> Vec<BlockedNow> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, mut tasks: Vec<BlockedNow>) {
        tasks.sort_by_key(|task| task.since_ns);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = tasks;
    }
}

/// The state of the tracer thread.
pub struct Tracer {
    tracing: Tracing,
    stop: Arc<AtomicBool>,
    blocked: BlockedTasks,
    traced: Traced,
    queue: TraceQueue,
    rotation: Rotation,
    /// The last rotation that this thread has taken part in.
    rotated: u64,
    tap: Option<Arc<dyn Tap>>,
}

impl Tracer {
    /// A tracer that hands its rows on through `rows` until `stop` is set.
    pub fn new(
        tracing: Tracing,
        rows: SyncSender<Row>,
        stop: Arc<AtomicBool>,
        blocked: BlockedTasks,
        rotation: Rotation,
        tap: Option<Arc<dyn Tap>>,
    ) -> Tracer {
        let (traced, queue) = (Traced::default(), TraceQueue::new(rows));
        Tracer { tracing, stop, blocked, traced, queue, rotation, rotated: 0, tap }
    }

    /// Polls the tracer and hands rows on until the recording ends. Calls `all_sent` once everything is handed on:
    /// detaching the programs may take longer than Ctrl-C should.
    pub fn run(mut self, all_sent: impl FnOnce()) {
        let mut due = Schedule::new(Instant::now());
        let mut wait = POLL_EVERY;
        while !self.stop.load(Ordering::Relaxed) {
            let before = weight(&self.traced);
            self.tracing.poll(&mut self.traced);
            let bytes = weight(&self.traced);
            wait = if bytes > before { POLL_EVERY } else { (wait * 2).min(POLL_IDLE_EVERY) };
            self.step(bytes, &mut due);
            let until_interval = due.interval.next.saturating_duration_since(Instant::now());
            std::thread::park_timeout(if self.tracing.is_tracing() {
                wait.min(until_interval)
            } else {
                until_interval
            });
        }
        self.tracing.finish(clock::monotonic_ns(), &mut self.traced);
        self.blocked.set(Vec::new());
        self.count_losses();
        self.empty();
        self.report_losses();
        self.report_cost();
        self.report_left_out();
        all_sent();
    }

    /// Does what is due; `bytes` is the size of the rows that wait.
    fn step(&mut self, bytes: usize, due: &mut Schedule) {
        let now = Instant::now();
        if due.interval.is_due(now) {
            let blocked = self.tracing.interval(clock::monotonic_ns(), &mut self.traced);
            self.show_blocked(blocked);
            self.show_lasting_waits();
            self.report_found();
            self.count_losses();
        }
        if self.rotation.requested() > self.rotated {
            self.rotated = self.rotation.requested();
            self.rotate();
        }
        if self.rotation.holds_tracer() {
            // Rows wait for the border, which is a second or so away.
            let tap = &self.tap;
            self.queue.hold_back(&mut self.traced, |traced| show(tap, traced));
        } else if bytes >= HAND_ON_BYTES || due.hand_on.is_due(now) {
            self.hand_on();
        }
        if due.losses.is_due(now) {
            self.report_losses();
        }
        if due.cost.is_due(now) {
            self.report_cost();
        }
    }

    fn show_blocked(&self, blocked: Vec<BlockedNow>) {
        if let Some(tap) = &self.tap {
            tap.blocked(clock::monotonic_ns(), &blocked);
        }
        self.blocked.set(blocked);
    }

    fn show_lasting_waits(&mut self) {
        let Some((tap, attention)) = self.tap.as_ref().and_then(|tap| Some((tap, tap.wants_lasting_waits()?))) else {
            return;
        };
        if let Some(rows) = self.tracing.look_at_lasting_waits(attention, &mut self.traced) {
            tap.lasting_waits(rows);
        }
    }

    /// Hands on the rows that refer to earlier ones; later rows do not. What lasts then is the end of the part, as
    /// it is that of a recording.
    fn rotate(&mut self) {
        self.tracing.end_part(&mut self.traced);
        self.empty();
        self.tracing.reset_emitted();
        self.rotation.tracer_is_ready(self.rotated);
    }

    fn hand_on(&mut self) {
        let tap = &self.tap;
        self.queue.hand_on(&mut self.traced, |traced| show(tap, traced));
    }

    fn empty(&mut self) {
        let tap = &self.tap;
        self.queue.empty(&mut self.traced, |traced| show(tap, traced));
    }

    fn count_losses(&mut self) {
        for lost in self.tracing.lost() {
            self.queue.lose(lost.what.to_owned(), lost.count);
        }
    }

    /// Modules that were loaded since the begin brought these.
    fn report_found(&mut self) {
        for finding in self.tracing.take_found() {
            self.queue.send_event(RunEvent::Source { at_ns: clock::monotonic_ns(), finding });
        }
    }

    fn report_losses(&mut self) {
        self.queue.report_losses(clock::monotonic_ns());
    }

    /// A recording that followed nobody would read as if nobody had waited.
    fn report_left_out(&mut self) {
        for text in self.tracing.left_out() {
            self.queue.send_event(RunEvent::Note { at_ns: clock::monotonic_ns(), text });
        }
    }

    fn report_cost(&mut self) {
        let Some(TraceCost { events, consumer_cpu_ns, programs_cpu_ns, measured_ns }) = self.tracing.cost() else {
            return;
        };
        let at_ns = clock::monotonic_ns();
        let cost = RunEvent::TraceCost { at_ns, events, consumer_cpu_ns, programs_cpu_ns, measured_ns };
        self.queue.send_event(cost);
    }
}

fn show(tap: &Option<Arc<dyn Tap>>, traced: &Traced) {
    if let Some(tap) = tap {
        tap.traced(traced);
    }
}

/// When the periodic work is due.
struct Schedule {
    interval: Periodic,
    cost: Periodic,
    losses: Periodic,
    hand_on: Periodic,
}

impl Schedule {
    fn new(began: Instant) -> Schedule {
        let every = |period| Periodic { period, next: began + period };
        Schedule {
            interval: every(INTERVAL),
            cost: every(COST_EVERY),
            losses: every(LOSSES_EVERY),
            hand_on: every(HAND_ON_EVERY),
        }
    }
}

struct Periodic {
    period: Duration,
    next: Instant,
}

impl Periodic {
    /// Whether it is due. Missed periods are not caught up.
    fn is_due(&mut self, now: Instant) -> bool {
        let is_due = now >= self.next;
        if is_due {
            self.next = now + self.period;
        }
        is_due
    }
}
