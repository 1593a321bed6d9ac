//! The thread that takes what the kernel's tracer saw, and hands it to the archive.
//!
//! It waits for nobody: what the archive is too slow for is dropped and counted. Stacks, tasks and sums are told only
//! once, and are few: they wait until there is room.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use model::event::RunEvent;
use model::stall::{RequestRecord, StallRecord, Traced};
use record::{BlockedNow, Cost, Tracing, clock};

use crate::recorder::{Row, Tap};
use crate::turn::Turn;

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
/// Memory of rows on their way to the archive. What is beyond is dropped and counted.
const QUEUED_BYTES: usize = 32 << 20;
/// Lists that came back empty from the archive, to be filled again.
const SPARE_LISTS: usize = 4;

/// Rows on their way to the archive.
pub struct Batch {
    /// The rows.
    pub rows: Traced,
    bytes: usize,
    queued: Arc<AtomicUsize>,
    spare: SyncSender<Traced>,
}

impl Batch {
    /// To be called when the rows were taken out.
    pub fn done(self) {
        self.queued.fetch_sub(self.bytes, Ordering::Relaxed);
        let _ = self.spare.try_send(self.rows);
    }
}

/// Who is blocked now, as the tracer saw them last.
#[derive(Debug, Default, Clone)]
pub struct Blocked(Arc<Mutex<Vec<BlockedNow>>>);

impl Blocked {
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
    rows: SyncSender<Row>,
    stop: Arc<AtomicBool>,
    blocked: Blocked,
    traced: Traced,
    queued: Arc<AtomicUsize>,
    spare: SyncSender<Traced>,
    returned: Receiver<Traced>,
    losses: BTreeMap<String, u64>,
    turn: Turn,
    tap: Option<Arc<dyn Tap>>,
}

impl Tracer {
    /// A tracer that hands its rows on through `rows` until `stop` is set.
    pub fn new(
        tracing: Tracing,
        rows: SyncSender<Row>,
        stop: Arc<AtomicBool>,
        blocked: Blocked,
        turn: Turn,
        tap: Option<Arc<dyn Tap>>,
    ) -> Tracer {
        let (spare, returned) = sync_channel(SPARE_LISTS);
        Tracer {
            tracing,
            rows,
            stop,
            blocked,
            traced: Traced::default(),
            queued: Arc::default(),
            spare,
            returned,
            losses: BTreeMap::new(),
            turn,
            tap,
        }
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
                self.hold_back();
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
        self.hand_on();
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
        self.hand_on();
        self.tracing.retell();
        self.turn.tracer_is_ready(turn);
    }

    /// Rows wait for the border, which is a second or so away.
    fn hold_back(&mut self) {
        if weight(&self.traced) > QUEUED_BYTES {
            self.show();
            self.drop_floods();
        }
    }

    fn show(&self) {
        if let Some(tap) = &self.tap {
            tap.traced(&self.traced);
        }
    }

    /// Sends the rows on, if the archive keeps up, and drops those that come by the thousand if it does not.
    fn hand_on(&mut self) {
        if self.traced.is_empty() {
            return;
        }
        self.show();
        let bytes = weight(&self.traced);
        if self.queued.load(Ordering::Relaxed) + bytes > QUEUED_BYTES {
            return self.drop_floods();
        }
        let rows = std::mem::replace(&mut self.traced, self.returned.try_recv().unwrap_or_default());
        self.queued.fetch_add(bytes, Ordering::Relaxed);
        let batch = Batch { rows, bytes, queued: Arc::clone(&self.queued), spare: self.spare.clone() };
        if let Err(TrySendError::Full(Row::Traced(batch)) | TrySendError::Disconnected(Row::Traced(batch))) =
            self.rows.try_send(Row::Traced(batch))
        {
            self.queued.fetch_sub(batch.bytes, Ordering::Relaxed);
            self.traced = batch.rows;
            self.drop_floods();
        }
    }

    fn drop_floods(&mut self) {
        let dropped = [("stalls", self.traced.stalls.len()), ("requests", self.traced.requests.len())];
        for (what, count) in dropped.into_iter().filter(|(_, count)| *count > 0) {
            self.lose(format!("{what} (the archive's disk was too slow)"), count as u64);
        }
        self.traced.stalls.clear();
        self.traced.requests.clear();
    }

    fn count_losses(&mut self) {
        for lost in self.tracing.lost() {
            self.lose(format!("{} (the kernel's ring was full)", lost.what), lost.count);
        }
    }

    fn lose(&mut self, what: String, count: u64) {
        *self.losses.entry(what).or_default() += count;
    }

    fn tell_losses(&mut self) {
        let at_ns = clock::monotonic_ns();
        for (what, count) in std::mem::take(&mut self.losses) {
            let _ = self.rows.try_send(Row::Event(RunEvent::Loss { what, count, at_ns }));
        }
    }

    fn tell_cost(&mut self) {
        let Some(Cost { events, consumer_cpu_ns, programs_cpu_ns, measured_ns }) = self.tracing.cost() else { return };
        let at_ns = clock::monotonic_ns();
        let cost = RunEvent::TraceCost { at_ns, events, consumer_cpu_ns, programs_cpu_ns, measured_ns };
        let _ = self.rows.try_send(Row::Event(cost));
    }
}

/// About how much memory the rows take: each list's own, and what most rows have besides.
fn weight(traced: &Traced) -> usize {
    /// Texts of a stall, frames of a stack, buckets of an interval: none is longer than this on the average.
    const BESIDES: usize = 256;
    let few = traced.stacks.len() + traced.request_intervals.len() + traced.tasks.len();
    traced.requests.len() * size_of::<RequestRecord>()
        + traced.stalls.len() * (size_of::<StallRecord>() + BESIDES / 4)
        + few * 4 * BESIDES
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
