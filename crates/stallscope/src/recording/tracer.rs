//! The thread that takes what the kernel's tracer saw, and hands it to the archive.
//!
//! It waits for nobody: what the archive is too slow for is dropped and counted. Stacks, tasks and sums are told only
//! once, and are few: they wait until there is room.

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

/// The ring is looked at so often while something comes.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// And so often after nothing came for a while: an idle machine is left alone.
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_millis(100);
/// Sums are taken, and blocked tasks looked for, so often.
const INTERVAL: Duration = Duration::from_secs(1);
/// What tracing costs is written down so often.
const COST_EVERY: Duration = Duration::from_secs(60);
/// Losses are written down so often, while there are any.
const LOSSES_EVERY: Duration = Duration::from_secs(10);
/// Rows wait so long for company on their way to the archive.
const HAND_ON_EVERY: Duration = Duration::from_millis(250);
/// And not when they take so much memory.
const HAND_ON_BYTES: usize = 1 << 20;
/// Who is blocked now, as the tracer saw them last.
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

/// What the thread needs.
pub struct Tracer {
    tracing: Tracing,
    stop: Arc<AtomicBool>,
    blocked: BlockedTasks,
    traced: Traced,
    queue: TraceQueue,
    turn: Rotation,
    tap: Option<Arc<dyn Tap>>,
}

impl Tracer {
    /// A tracer that hands its rows on through `rows` until `stop` is set.
    pub fn new(
        tracing: Tracing,
        rows: SyncSender<Row>,
        stop: Arc<AtomicBool>,
        blocked: BlockedTasks,
        turn: Rotation,
        tap: Option<Arc<dyn Tap>>,
    ) -> Tracer {
        Tracer { tracing, stop, blocked, traced: Traced::default(), queue: TraceQueue::new(rows), turn, tap }
    }

    /// Takes and hands on until the recording ends. Everything is handed on when `told_all` is called; taking the
    /// programs away may take longer than a person who pressed Ctrl-C should wait.
    pub fn run(mut self, told_all: impl FnOnce()) {
        let (mut wait, began) = (LOOK_EVERY, Instant::now());
        let mut interval = Every::new(INTERVAL, began);
        let mut cost = Every::new(COST_EVERY, began);
        let mut losses = Every::new(LOSSES_EVERY, began);
        let mut hand_on = Every::new(HAND_ON_EVERY, began);
        let mut turn = 0;
        while !self.stop.load(Ordering::Relaxed) {
            let before = weight(&self.traced);
            self.tracing.poll(&mut self.traced);
            let bytes = weight(&self.traced);
            wait = if bytes > before { LOOK_EVERY } else { (wait * 2).min(LOOK_AT_LEAST_EVERY) };
            let now = Instant::now();
            if interval.is_due(now) {
                let blocked = self.tracing.interval(clock::monotonic_ns(), &mut self.traced);
                self.show_blocked(blocked);
                self.count_losses();
            }
            if self.turn.wanted() > turn {
                turn = self.turn.wanted();
                self.turn_over(turn);
            }
            if self.turn.holds_tracer() {
                // Rows wait for the border, which is a second or so away.
                let tap = &self.tap;
                self.queue.hold_back(&mut self.traced, |traced| show(tap, traced));
            } else if bytes >= HAND_ON_BYTES || hand_on.is_due(now) {
                self.hand_on();
            }
            if losses.is_due(now) {
                self.tell_losses();
            }
            if cost.is_due(now) {
                self.tell_cost();
            }
            let until_interval = interval.next.saturating_duration_since(Instant::now());
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
        self.tell_losses();
        self.tell_cost();
        told_all();
    }

    fn show_blocked(&self, blocked: Vec<BlockedNow>) {
        if let Some(tap) = &self.tap {
            tap.blocked(clock::monotonic_ns(), &blocked);
        }
        self.blocked.set(blocked);
    }

    /// Hands on what leans on things told before; what comes from now on does not.
    fn turn_over(&mut self, turn: u64) {
        self.empty();
        self.tracing.reset_emitted();
        self.turn.tracer_is_ready(turn);
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

    fn tell_losses(&mut self) {
        self.queue.tell_losses(clock::monotonic_ns());
    }

    fn tell_cost(&mut self) {
        let Some(TraceCost { events, consumer_cpu_ns, programs_cpu_ns, measured_ns }) = self.tracing.cost() else {
            return;
        };
        let at_ns = clock::monotonic_ns();
        let cost = RunEvent::TraceCost { at_ns, events, consumer_cpu_ns, programs_cpu_ns, measured_ns };
        self.queue.tell(cost);
    }
}

fn show(tap: &Option<Arc<dyn Tap>>, traced: &Traced) {
    if let Some(tap) = tap {
        tap.traced(traced);
    }
}

/// Something that is done from time to time.
struct Every {
    period: Duration,
    next: Instant,
}

impl Every {
    fn new(period: Duration, began: Instant) -> Every {
        Every { period, next: began + period }
    }

    /// Whether it is time again. What was missed is not made up for.
    fn is_due(&mut self, now: Instant) -> bool {
        let is_due = now >= self.next;
        if is_due {
            self.next = now + self.period;
        }
        is_due
    }
}
