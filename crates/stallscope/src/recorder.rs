//! The recording of one run: a thread that samples, one that takes what the tracer saw, one that writes, and a bounded
//! queue between them.
//!
//! None waits for the other. Writing may stall with the disk it writes to, and sampling must not stall with it: when
//! the queue is full a sample's values are dropped and counted, and the next sample starts from fresh.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use archive::{FlushState, Writer};
use explain::series::SeriesSet;
use model::event::{Ending, RunEvent};
use model::metric::{Change, MetricDescriptor, SampleHeader};
use model::operation::{IntervalRecord, OperationRecord};
use record::{BlockedNow, ClockWatch, Sample, SamplerSet, Ticker, Tracing, clock};

use crate::failure::Failure;
use crate::tracing::{Batch, Blocked, Tracer};

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
}

/// A recording that goes on.
pub struct Recorder {
    rows: SyncSender<Row>,
    stop: Arc<AtomicBool>,
    sampler: JoinHandle<()>,
    tracer: Option<TracerThread>,
    blocked: Blocked,
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
    /// Begins to sample, to trace and to write. `watch` chooses the metrics whose values are also kept at hand, in memory that grows
    /// with the run; nothing is kept without it.
    pub fn start(
        samplers: SamplerSet,
        interval_ns: u64,
        tracing: Option<Tracing>,
        archive: Writer,
        watch: Option<fn(&MetricDescriptor) -> bool>,
    ) -> Result<Recorder, Failure> {
        let (rows, to_write) = sync_channel(QUEUE);
        let (tell_closed, closed) = sync_channel(1);
        let stop = Arc::new(AtomicBool::new(false));
        let blocked = Blocked::default();
        let state = Arc::new(Mutex::new(FlushState::Whole));
        let watched = Arc::new(Mutex::new(SeriesSet::default()));
        let sampling = Sampling {
            samplers,
            interval_ns,
            rows: rows.clone(),
            stop: Arc::clone(&stop),
            watched: Arc::clone(&watched),
            watch,
            archived_bytes: Arc::default(),
        };
        let written = Written { state: Arc::clone(&state), bytes: Arc::clone(&sampling.archived_bytes) };
        let trace = |tracing| start_tracer(Tracer::new(tracing, rows.clone(), Arc::clone(&stop), blocked.clone()));
        Ok(Recorder {
            tracer: tracing.map(trace).transpose()?,
            rows,
            stop,
            blocked,
            sampler: spawn("sampler", move || sampling.run())?,
            writer: spawn("archive", move || {
                let _ = tell_closed.send(write(archive, &to_write, &written));
            })?,
            closed,
            state,
            watched,
        })
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
    interval_ns: u64,
    rows: SyncSender<Row>,
    stop: Arc<AtomicBool>,
    watched: Arc<Mutex<SeriesSet>>,
    watch: Option<fn(&MetricDescriptor) -> bool>,
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

    /// Takes one sample and hands it on.
    fn take(&mut self, ordinal: u32, late_ns: u64, sample: &mut Sample, dropped: &mut Dropped) -> model::time::Moment {
        self.samplers.set_archived_bytes(self.archived_bytes.load(Ordering::Relaxed));
        let header = SampleHeader { late_ns, ..self.samplers.sample(ordinal, sample) };
        let at = header.at;
        self.remember(header, sample);
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

/// How writing goes, as the other threads see it.
struct Written {
    state: Arc<Mutex<FlushState>>,
    bytes: Arc<AtomicU64>,
}

/// Writes rows as they come, flushes once a second and whenever many came, closes after the last event.
fn write(mut archive: Writer, rows: &Receiver<Row>, written: &Written) -> Result<(), archive::ArchiveError> {
    const FLUSH_EVERY: Duration = Duration::from_secs(1);
    const FLUSH_AT_BYTES: usize = 8 << 20;
    let mut flush_at = Instant::now() + FLUSH_EVERY;
    loop {
        match rows.recv_timeout(flush_at.saturating_duration_since(Instant::now())) {
            Ok(Row::Event(event @ RunEvent::Ended { .. })) => {
                archive.event(event);
                break;
            }
            Ok(row) => add(&mut archive, row),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if Instant::now() >= flush_at || archive.pending_bytes() >= FLUSH_AT_BYTES {
            let now = archive.flush(clock::now());
            *written.state.lock().unwrap_or_else(PoisonError::into_inner) = now;
            written.bytes.store(archive.bytes_written(), Ordering::Relaxed);
            flush_at = Instant::now() + FLUSH_EVERY;
        }
    }
    archive.close(clock::now()).map(|_| ())
}

fn add(archive: &mut Writer, row: Row) {
    match row {
        Row::Sample { header, descriptors, changes } => {
            archive.describe(&descriptors);
            archive.sample(header, &changes);
        }
        Row::Intervals(records) => archive.intervals(records),
        Row::Operations(records) => archive.operations(records),
        Row::Traced(mut batch) => {
            archive.traced(&mut batch.rows);
            batch.done();
        }
        Row::Event(event) => archive.event(event),
    }
}
