//! The recording of one run: a thread that samples, one that takes what the tracer saw, one that writes, and a bounded
//! queue between them.
//!
//! None waits for the other. Writing may stall with the disk it writes to, and sampling must not stall with it: when
//! the queue is full a sample's values are dropped and counted, and the next sample starts from fresh.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use archive::FlushState;
use explain::series::SeriesSet;
use model::event::{Ending, RunEvent};
use model::metric::MetricDescriptor;
use model::operation::{IntervalRecord, OperationRecord};
use record::{BlockedNow, SamplerSet, Tracing, clock};

use crate::recording::rotation::Rotation;
use crate::recording::row::Row;
use crate::recording::sampling::Sampling;
use crate::recording::sink::Sink;
use crate::recording::tap::Tap;
use crate::recording::tracer::{BlockedTasks, Tracer};
use crate::recording::writing::{WriteProgress, write};
use crate::ui::failure::Failure;

/// Samples and reports that may wait for the writer: minutes of them.
const QUEUE: usize = 512;

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
    blocked: BlockedTasks,
    turn: Rotation,
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
        let (blocked, turn) = (BlockedTasks::default(), Rotation::default());
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
        let written = WriteProgress { state: Arc::clone(&state), bytes: Arc::clone(&sampling.archived_bytes) };
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
