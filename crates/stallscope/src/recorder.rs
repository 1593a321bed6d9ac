//! The recording of one run: a thread that samples, one that takes what the tracer saw, one that writes, and a bounded
//! queue between them.
//!
//! None waits for the other. Writing may stall with the disk it writes to, and sampling must not stall with it: when
//! the queue is full a sample's values are dropped and counted, and the next sample starts from fresh.

mod writing;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use archive::FlushState;
use explain::series::SeriesSet;
use model::event::{Ending, RunEvent};
use model::metric::{Change, MetricDescriptor, SampleHeader};
use model::operation::{IntervalRecord, OperationRecord};
use model::stall::Traced;
use record::{BlockedNow, ClockWatch, Sample, SamplerSet, Ticker, Tracing, clock};

use crate::failure::Failure;
use crate::sink::Sink;
use crate::tracing::{Batch, Blocked, Tracer};
use crate::turn::Turn;
use writing::{Written, write};

/// Samples and reports that may wait for the writer: minutes of them.
const QUEUE: usize = 512;

/// Something to be written.
pub enum Row {
    /// A sample.
    Sample { header: SampleHeader, descriptors: Vec<MetricDescriptor>, changes: Vec<Change> },
    /// Operations of an interval, summed by class.
    Intervals(Vec<IntervalRecord>),
    /// Single operations.
    Operations(Vec<OperationRecord>),
    /// What the tracer saw.
    Traced(Batch),
    /// Something about the run as a whole.
    Event(RunEvent),
    /// What follows can be read by itself: the next slice of a ring begins.
    Border,
}

/// Somebody who looks at what is seen, on the threads that see it: nothing there may wait.
pub trait Tap: Send + Sync {
    /// A sample was taken.
    fn sample(&self, header: &SampleHeader, descriptors: &[MetricDescriptor], changes: &[Change]);
    /// The tracer saw something; each stall is shown once.
    fn traced(&self, traced: &Traced);
    /// These tasks are blocked now.
    fn blocked(&self, now_ns: u64, tasks: &[BlockedNow]);
    /// From the next sample on, metrics have other numbers.
    fn renumbered(&self);
}

/// What to record.
pub struct Start {
    /// What is sampled.
    pub samplers: SamplerSet,
    /// Opens them anew, at a turn, when they have come to remember too much; without it that never happens.
    pub renew: Option<fn() -> SamplerSet>,
    /// Time between samples.
    pub interval_ns: u64,
    /// What is traced.
    pub tracing: Option<Tracing>,
    /// Chooses the metrics whose values are also kept at hand, in memory that grows with the run; nothing is kept
    /// without it.
    pub watch: Option<fn(&MetricDescriptor) -> bool>,
    /// Who looks at all of it as it comes.
    pub tap: Option<Arc<dyn Tap>>,
}

/// A recording that goes on.
pub struct Recorder {
    rows: SyncSender<Row>,
    stop: Arc<AtomicBool>,
    sampler: JoinHandle<()>,
    tracer: Option<TracerThread>,
    blocked: Blocked,
    turn: Turn,
    writer: JoinHandle<()>,
    closed: Receiver<Result<(), archive::ArchiveError>>,
    state: Arc<Mutex<FlushState>>,
    watched: Arc<Mutex<SeriesSet>>,
}

struct TracerThread {
    thread: JoinHandle<()>,
    /// Everything that it saw is on its way to the archive.
    told_all: Arc<AtomicBool>,
}

impl Recorder {
    /// Begins to sample, to trace and to write.
    pub fn start(start: Start, sink: Box<dyn Sink>) -> Result<Recorder, Failure> {
        let Start { samplers, renew, interval_ns, tracing, watch, tap } = start;
        let (rows, to_write) = sync_channel(QUEUE);
        let (tell_closed, closed) = sync_channel(1);
        let stop = Arc::new(AtomicBool::new(false));
        let (blocked, turn) = (Blocked::default(), Turn::default());
        let state = Arc::new(Mutex::new(FlushState::Whole));
        let watched = Arc::new(Mutex::new(SeriesSet::default()));
        let sampling = Sampling {
            samplers,
            renew,
            interval_ns,
            rows: rows.clone(),
            stop: Arc::clone(&stop),
            watched: Arc::clone(&watched),
            watch,
            tap: tap.clone(),
            turn: turn.clone(),
            has_tracer: tracing.is_some(),
            archived_bytes: Arc::default(),
        };
        let written = Written { state: Arc::clone(&state), bytes: Arc::clone(&sampling.archived_bytes) };
        let trace = |tracing| {
            start_tracer(Tracer::new(tracing, rows.clone(), Arc::clone(&stop), blocked.clone(), turn.clone(), tap))
        };
        Ok(Recorder {
            tracer: tracing.map(trace).transpose()?,
            rows,
            stop,
            blocked,
            turn,
            sampler: spawn("sampler", move || sampling.run())?,
            writer: spawn("archive", move || {
                let _ = tell_closed.send(write(sink, &to_write, &written));
            })?,
            closed,
            state,
            watched,
        })
    }

    /// Makes the rows from the next sample on readable by themselves, and tells the sink of that border.
    pub fn turn(&self) {
        self.turn.ask();
    }

    /// How often it was turned; the sink may not have come to the last border yet.
    pub fn turns(&self) -> u64 {
        self.turn.count()
    }

    /// Writes interval records.
    pub fn intervals(&self, records: Vec<IntervalRecord>) {
        self.put(Row::Intervals(records));
    }

    /// Writes single operations.
    pub fn operations(&self, records: Vec<OperationRecord>) {
        self.put(Row::Operations(records));
    }

    /// Writes an event.
    pub fn event(&self, event: RunEvent) {
        self.put(Row::Event(event));
    }

    /// The queue holds minutes; when even that is full, the archive's disk has stopped, and what is told is lost with it.
    fn put(&self, row: Row) {
        if self.rows.try_send(row).is_err() {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if *state == FlushState::Whole {
                *state = FlushState::Full { why: "the archive's disk does not answer".to_owned() };
            }
        }
    }

    /// How writing goes.
    pub fn state(&self) -> FlushState {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The watched metrics' values so far.
    pub fn with_watched<T>(&self, look: impl FnOnce(&SeriesSet) -> T) -> T {
        look(&self.watched.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tasks that are blocked now, longest first.
    pub fn blocked(&self) -> Vec<BlockedNow> {
        self.blocked.now()
    }

    /// Ends sampling and tracing, writes what is left, and closes the archive. Waits at most so long, and says so when the archive's
    /// disk does not answer within it.
    pub fn finish(self, how: Ending, patience: Duration) -> Result<(), Failure> {
        self.stop.store(true, Ordering::Relaxed);
        self.sampler.thread().unpark();
        self.tracer.iter().for_each(|tracer| tracer.thread.thread().unpark());
        let has_told_all = |tracer: &TracerThread| tracer.told_all.load(Ordering::Relaxed);
        let is_done = || self.sampler.is_finished() && self.tracer.as_ref().is_none_or(has_told_all);
        let until = Instant::now() + patience;
        while !is_done() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.put(Row::Event(RunEvent::Ended { at_ns: clock::monotonic_ns(), how }));
        drop(self.rows);
        // A sampler stuck in the kernel holds the other end of the queue: the writer closes by the event, not the end.
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(100));
        match self.closed.recv_timeout(left) {
            Ok(Ok(())) => {
                let _ = self.writer.join();
                Ok(())
            }
            Ok(Err(error)) => Err(Failure::machine(error)),
            Err(_) => Err(Failure::machine(
                "the archive's disk does not answer; what was flushed before is readable, the rest is lost",
            )),
        }
    }
}

fn start_tracer(tracer: Tracer) -> Result<TracerThread, Failure> {
    let told_all = Arc::new(AtomicBool::new(false));
    let tell = Arc::clone(&told_all);
    let thread = spawn("tracer", move || tracer.run(|| tell.store(true, Ordering::Relaxed)))?;
    Ok(TracerThread { thread, told_all })
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, Failure> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(body)
        .map_err(|error| Failure::machine(format_args!("cannot start a thread: {error}")))
}

struct Sampling {
    samplers: SamplerSet,
    renew: Option<fn() -> SamplerSet>,
    interval_ns: u64,
    rows: SyncSender<Row>,
    stop: Arc<AtomicBool>,
    watched: Arc<Mutex<SeriesSet>>,
    watch: Option<fn(&MetricDescriptor) -> bool>,
    tap: Option<Arc<dyn Tap>>,
    turn: Turn,
    has_tracer: bool,
    archived_bytes: Arc<AtomicU64>,
}

impl Sampling {
    fn run(mut self) {
        let begin = clock::now();
        let mut ticker = Ticker::new(begin.monotonic_ns, self.interval_ns);
        let mut wall = ClockWatch::new(begin, ClockWatch::DEFAULT_THRESHOLD_NS);
        let mut sample = Sample::default();
        let mut ordinal = 0;
        let mut dropped = Dropped::default();
        let mut waited = 0;
        loop {
            let now_ns = clock::monotonic_ns();
            let Some(tick) = ticker.fire(now_ns) else {
                // The last sample is taken at the end, so that the last counters are in the run.
                if self.stop.load(Ordering::Relaxed) {
                    self.take(ordinal, 0, &mut sample, &mut dropped);
                    return;
                }
                std::thread::park_timeout(Duration::from_nanos(ticker.next_ns() - now_ns));
                continue;
            };
            waited = if self.turn.is_asked() { waited + 1 } else { 0 };
            if self.turn.is_due(self.has_tracer, waited) && self.rows.try_send(Row::Border).is_ok() {
                self.turn.made();
                self.tell_anew();
                dropped.forget_values();
                ordinal = 0;
            }
            for event in tick.events(ordinal) {
                self.put(Row::Event(event));
            }
            let at = self.take(ordinal, tick.late_ns, &mut sample, &mut dropped);
            if let Some(step) = wall.observe(at) {
                self.put(Row::Event(step));
            }
            ordinal += 1;
        }
    }

    fn tell_anew(&mut self) {
        match self.renew {
            Some(renew) if self.samplers.is_overgrown() => {
                self.samplers = renew();
                self.tap.iter().for_each(|tap| tap.renumbered());
            }
            _ => self.samplers.request_full_sample(),
        }
    }

    /// Takes one sample and hands it on.
    fn take(&mut self, ordinal: u32, late_ns: u64, sample: &mut Sample, dropped: &mut Dropped) -> model::time::Moment {
        self.samplers.set_archived_bytes(self.archived_bytes.load(Ordering::Relaxed));
        let header = SampleHeader { late_ns, ..self.samplers.sample(ordinal, sample) };
        let at = header.at;
        self.remember(header, sample);
        if let Some(tap) = &self.tap {
            tap.sample(&header, &sample.new_descriptors, &sample.changes);
        }
        for failure in &sample.failures {
            let text = format!("{}: {}", failure.source, failure.why);
            self.put(Row::Event(RunEvent::Note { at_ns: at.monotonic_ns, text }));
        }
        dropped.merge_into(sample, ordinal);
        let row = Row::Sample {
            header,
            descriptors: std::mem::take(&mut sample.new_descriptors),
            changes: sample.changes.clone(),
        };
        if let Err(TrySendError::Full(row)) = self.rows.try_send(row) {
            dropped.keep(row);
        } else if let Some(count) = dropped.told() {
            let what = "samples (the archive's disk was too slow)".to_owned();
            self.put(Row::Event(RunEvent::Loss { what, count, at_ns: at.monotonic_ns }));
        }
        at
    }

    fn remember(&self, header: SampleHeader, sample: &Sample) {
        let Some(watch) = self.watch else { return };
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.describe(&sample.new_descriptors, watch);
        watched.sample(header);
        watched.feed(&sample.changes);
    }

    fn put(&self, row: Row) {
        let _ = self.rows.try_send(row);
    }
}

/// What of dropped samples must not be lost: the metrics they described, and the latest value of each that changed.
/// Without it every later value of an unchanged metric would be wrong.
#[derive(Default)]
struct Dropped {
    count: u64,
    descriptors: Vec<MetricDescriptor>,
    changes: Vec<Change>,
}

impl Dropped {
    fn keep(&mut self, row: Row) {
        if let Row::Sample { descriptors, changes, .. } = row {
            self.count += 1;
            self.descriptors = descriptors;
            self.changes = changes;
        }
    }

    /// The next sample tells all values, and those that were dropped may be of metrics that are no more.
    fn forget_values(&mut self) {
        self.descriptors.clear();
        self.changes.clear();
    }

    /// Adds the dropped values to the next sample, where it has no newer ones.
    fn merge_into(&mut self, sample: &mut Sample, ordinal: u32) {
        if self.count == 0 {
            return;
        }
        self.descriptors.append(&mut sample.new_descriptors);
        sample.new_descriptors = std::mem::take(&mut self.descriptors);
        let newer: std::collections::HashSet<_> = sample.changes.iter().map(|change| change.metric).collect();
        let older = self.changes.drain(..).filter(|change| !newer.contains(&change.metric));
        sample.changes.extend(older.map(|change| Change { sample: ordinal, ..change }));
    }

    fn told(&mut self) -> Option<u64> {
        let count = std::mem::take(&mut self.count);
        (count > 0).then_some(count)
    }
}
