//! The recording of one run: a sampler thread, a tracer thread, an archive thread, and a bounded queue between them.
//!
//! No thread waits for another. The archive may stall with its disk, and sampling must not stall with it: when the
//! queue is full, a sample is dropped and counted, and the next sample carries its values.

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
use crate::ui::privilege;

/// Rows that may wait for the archive thread: minutes of them.
const QUEUE: usize = 512;

/// Time to close an archive when nobody interrupts: on an overloaded machine that takes long.
pub const CALM_PATIENCE: Duration = Duration::from_secs(30);

/// What to record.
pub struct Start {
    /// The samplers.
    pub samplers: SamplerSet,
    /// Reopens the samplers at a rotation when they hold too much state; `None` never does.
    pub renew: Option<fn() -> SamplerSet>,
    /// Sampling interval.
    pub interval_ns: u64,
    /// The tracer.
    pub tracing: Option<Tracing>,
    /// Selects metrics whose values are also kept in memory, which grows with the run; `None` keeps nothing.
    pub watch: Option<fn(&MetricDescriptor) -> bool>,
    /// Observes every row as it is recorded.
    pub tap: Option<Arc<dyn Tap>>,
}

/// Interval of looks at whether threads have ended.
const STEP: Duration = Duration::from_millis(2);

/// A recording in progress.
pub struct Recorder {
    rows: SyncSender<Row>,
    stop: Arc<AtomicBool>,
    sampler: JoinHandle<()>,
    tracer: Option<TracerThread>,
    blocked: BlockedTasks,
    rotation: Rotation,
    writer: JoinHandle<()>,
    closed: Receiver<Result<FlushState, archive::ArchiveError>>,
    state: Arc<Mutex<FlushState>>,
    watched: Arc<Mutex<SeriesSet>>,
}

struct TracerThread {
    thread: JoinHandle<()>,
    stop: Arc<AtomicBool>,
    /// All its rows are on their way to the archive.
    all_sent: Arc<AtomicBool>,
}

impl Recorder {
    /// Starts sampling, tracing and writing.
    pub fn start(start: Start, sink: Box<dyn Sink>) -> Result<Recorder, Failure> {
        let Start { samplers, renew, interval_ns, tracing, watch, tap } = start;
        let (rows, to_write) = sync_channel(QUEUE);
        let (report_closed, closed) = sync_channel(1);
        let stop = Arc::new(AtomicBool::new(false));
        let (blocked, rotation) = (BlockedTasks::default(), Rotation::default());
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
            rotation: rotation.clone(),
            has_tracer: tracing.is_some(),
            archived_bytes: Arc::default(),
        };
        let written = WriteProgress { state: Arc::clone(&state), bytes: Arc::clone(&sampling.archived_bytes) };
        let trace = |tracing| {
            start_tracer(|stop| Tracer::new(tracing, rows.clone(), stop, blocked.clone(), rotation.clone(), tap))
        };
        Ok(Recorder {
            tracer: tracing.map(trace).transpose()?,
            rows,
            stop,
            blocked,
            rotation,
            sampler: spawn("sampler", privilege::keep_for_observer, move || sampling.run())?,
            writer: spawn("archive", privilege::keep_for_archive, move || {
                let _ = report_closed.send(write(sink, &to_write, &written));
            })?,
            closed,
            state,
            watched,
        })
    }

    /// Requests a rotation: rows from the next sample on can be read without the earlier ones, and the sink starts a
    /// new slice.
    pub fn rotate(&self) {
        self.rotation.request();
    }

    /// Completed rotations; the sink may not have reached the last border yet.
    pub fn rotations(&self) -> u64 {
        self.rotation.count()
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

    /// The queue holds minutes; when it is full, the archive's disk has stopped, and the row is lost.
    fn put(&self, row: Row) {
        if self.rows.try_send(row).is_err() {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if *state == FlushState::Whole {
                *state = FlushState::Full { why: "the archive's disk does not respond".to_owned() };
            }
        }
    }

    /// The state of the archive.
    pub fn state(&self) -> FlushState {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The values of the watched metrics so far.
    pub fn with_watched<T>(&self, look: impl FnOnce(&SeriesSet) -> T) -> T {
        look(&self.watched.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tasks that are blocked now, longest first.
    pub fn blocked(&self) -> Vec<BlockedNow> {
        self.blocked.now()
    }

    /// Ends tracing with a last look at waits that have not ended. Call this before ending the recorded command: its
    /// waits would be recorded as ended by us. Takes at most `patience`.
    pub fn stop_tracing(&self, patience: Duration) {
        self.request_end_of_tracing();
        wait_until(Instant::now() + patience, || self.has_traced_all());
    }

    fn request_end_of_tracing(&self) {
        if let Some(tracer) = &self.tracer {
            tracer.stop.store(true, Ordering::Relaxed);
            tracer.thread.thread().unpark();
        }
    }

    fn has_traced_all(&self) -> bool {
        self.tracer.as_ref().is_none_or(|tracer| tracer.all_sent.load(Ordering::Relaxed))
    }

    /// Ends sampling and tracing, writes what is left, and closes the archive. Waits at most `patience`; it is an error
    /// if the archive's disk does not respond within it. Returns the last state of the archive.
    pub fn finish(self, how: Ending, patience: Duration) -> Result<FlushState, Failure> {
        self.stop.store(true, Ordering::Relaxed);
        self.sampler.thread().unpark();
        self.request_end_of_tracing();
        let is_done = || self.sampler.is_finished() && self.has_traced_all();
        let until = Instant::now() + patience;
        wait_until(until, is_done);
        self.put(Row::Event(RunEvent::Ended { at_ns: clock::monotonic_ns(), how }));
        drop(self.rows);
        // A sampler stuck in the kernel keeps the queue open: the archive thread closes on the event, not at the end.
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(100));
        match self.closed.recv_timeout(left) {
            Ok(Ok(state)) => {
                let _ = self.writer.join();
                Ok(state)
            }
            Ok(Err(error)) => Err(Failure::machine(error)),
            Err(_) => Err(Failure::machine(
                "the archive's disk does not respond; what was flushed is readable, the rest is lost",
            )),
        }
    }
}

/// Waits until then for threads that are to end.
fn wait_until(deadline: Instant, is_done: impl Fn() -> bool) {
    while !is_done() && Instant::now() < deadline {
        std::thread::sleep(STEP);
    }
}

fn start_tracer(new: impl FnOnce(Arc<AtomicBool>) -> Tracer) -> Result<TracerThread, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let tracer = new(Arc::clone(&stop));
    let all_sent = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&all_sent);
    let run = move || tracer.run(|| flag.store(true, Ordering::Relaxed));
    let thread = spawn("tracer", privilege::keep_for_observer, run)?;
    Ok(TracerThread { thread, stop, all_sent })
}

/// Starts a thread, which first gives up what it does not need.
fn spawn(name: &str, give_up: fn(), body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, Failure> {
    let body = move || {
        give_up();
        body();
    };
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(body)
        .map_err(|error| Failure::machine(format_args!("cannot start a thread: {error}")))
}
